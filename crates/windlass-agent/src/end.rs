//! Why an agent stopped.

/// Why an agent stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentEnd {
    /// It was told to.
    Stopped,
    /// Its server revoked it. The host stays as it is.
    Revoked,
    /// Its binary was replaced: start it again.
    Restart,
    /// It did its work once.
    Once(OnceResult),
}

/// What an agent reached that ran once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnceResult {
    /// The host is what its server wants.
    InSync,
    /// Something differs or failed.
    NotInSync,
    /// The server has no assignment for it yet.
    NothingAssigned,
    /// The server could not be reached. The agent looked at what it holds.
    ServerAway,
}
