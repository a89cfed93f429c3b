//! Exit codes, in one place. They are part of the interface: units and scripts depend on them.

use std::process::ExitCode;

use windlass_agent::AgentError;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Fine,
    Problems,
    /// Something differs or failed on the host.
    Differences,
    Usage,
    NoServer,
    /// The binary was replaced and has to be started again.
    Restart,
    Revoked,
}

impl Exit {
    /// The code of an error.
    pub(crate) fn of(error: &AgentError) -> Exit {
        match error {
            AgentError::Server { .. } => Exit::NoServer,
            AgentError::BadEnrolmentKey { .. } | AgentError::BadServerAddress(_) => Exit::Usage,
            _ => Exit::Problems,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        // From 64 on as in sysexits.h.
        ExitCode::from(match exit {
            Exit::Fine => 0,
            Exit::Problems => 1,
            Exit::Differences => 2,
            Exit::Usage => 64,
            Exit::NoServer => 69,
            Exit::Restart => 75,
            Exit::Revoked => 77,
        })
    }
}
