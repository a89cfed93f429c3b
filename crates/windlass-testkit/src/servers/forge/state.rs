//! The state of a fake forge: its data and the recorded requests.

use std::collections::VecDeque;

use serde_json::Value;

/// The valid token.
pub(super) const TOKEN: &str = "planted-forge-token-6W";

/// The login of the token's user.
pub(super) const LOGIN: &str = "windlass-bot";

/// The id of that user.
pub(super) const USER_ID: i64 = 77;

/// The kind of fake forge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeFlavour {
    /// GitHub Enterprise Server, below `/api/v3`.
    GitHub,
    /// Gitea, below `/api/v1`.
    Gitea,
    /// GitLab, below `/api/v4`.
    GitLab,
}

/// A recorded request.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// `POST`.
    pub method: String,
    /// The path as it was sent, percent-encoded.
    pub path: String,
    /// The query string.
    pub query: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body; null if there was none.
    pub body: Value,
}

impl ReceivedRequest {
    /// A header's text; empty if there is none.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(found, _)| found == name).map_or("", |(_, value)| value)
    }
}

/// A comment on a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FakeComment {
    /// Its id.
    pub id: i64,
    /// The number of the pull request.
    pub number: String,
    /// The id of the author.
    pub author: i64,
    /// The text.
    pub body: String,
}

/// A response that a test prepared.
pub(super) struct PreparedAnswer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Value,
}

#[derive(Default)]
pub(super) struct ForgeState {
    pub(super) requests: Vec<ReceivedRequest>,
    pub(super) prepared: VecDeque<PreparedAnswer>,
    pub(super) comments: Vec<FakeComment>,
    /// Commit and body of every status.
    pub(super) statuses: Vec<(String, Value)>,
    /// The repositories that were created.
    pub(super) repositories: Vec<String>,
    pub(super) is_admin: bool,
    pub(super) may_only_read: bool,
    pub(super) is_down: bool,
}
