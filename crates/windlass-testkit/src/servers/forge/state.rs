//! What a pretended forge is, was asked and keeps.

use std::collections::VecDeque;

use serde_json::Value;

/// The token it takes.
pub(super) const TOKEN: &str = "planted-forge-token-6W";

/// Whose token that is.
pub(super) const LOGIN: &str = "windlass-bot";

/// Their id.
pub(super) const USER_ID: i64 = 77;

/// Which forge is pretended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForgeFlavour {
    /// GitHub Enterprise Server, below `/api/v3`.
    GitHub,
    /// Gitea, below `/api/v1`.
    Gitea,
    /// GitLab, below `/api/v4`.
    GitLab,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct ReceivedRequest {
    /// `POST`.
    pub method: String,
    /// The path as it was sent, percent-encoded.
    pub path: String,
    /// What stands after `?`.
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
    /// On which pull request.
    pub number: String,
    /// Who wrote it.
    pub author: i64,
    /// What it says.
    pub body: String,
}

/// An answer that was prepared.
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
    /// Repositories that were made.
    pub(super) repositories: Vec<String>,
    pub(super) is_admin: bool,
    pub(super) may_only_read: bool,
    pub(super) is_down: bool,
}
