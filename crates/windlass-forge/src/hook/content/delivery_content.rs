//! The content of a delivery.

use crate::hook::sender::WebhookSender;

/// The content of a delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryContent {
    /// A change of an unspecified branch.
    UnspecifiedChange,
    /// These branches were moved, created or deleted. Tags are not included.
    Push {
        /// Their names, without `refs/heads/`.
        branches: Vec<String>,
    },
    /// A pull request was opened, changed or closed.
    PullRequest(PullRequest),
    /// A test of the webhook.
    Ping,
    /// An event that Windlass does not use.
    Other,
    /// The body does not match the event that its header names.
    Unreadable,
}

/// A pull request or merge request, as the forge describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// What happened to it.
    pub action: PullRequestAction,
    /// The head commit, in hex digits; Bitbucket Cloud sends only the first 12.
    pub head_sha: String,
    /// The head branch, which may be in another repository.
    pub head_branch: String,
    /// The target branch.
    pub base_branch: String,
    /// Whether the head commit is from a fork.
    pub origin: CommitOrigin,
}

/// The origin of a pull request's head commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOrigin {
    /// A branch of the repository itself: its author has push permission.
    Repository,
    /// Another repository, or the forge does not say: anyone may have written it.
    Fork,
}

impl CommitOrigin {
    /// The origin, from the repositories of head and base as far as the forge names them.
    pub(super) fn of<T: PartialEq>(head: Option<T>, base: Option<T>) -> CommitOrigin {
        match (head, base) {
            (Some(head), Some(base)) if head == base => CommitOrigin::Repository,
            _ => CommitOrigin::Fork,
        }
    }
}

impl PullRequest {
    /// The reference under which the forge publishes the head commit; `None` where there is none.
    pub fn reference(&self, sender: WebhookSender) -> Option<String> {
        match sender {
            WebhookSender::GitHub | WebhookSender::Gitea => Some(format!("refs/pull/{}/head", self.number)),
            WebhookSender::GitLab => Some(format!("refs/merge-requests/{}/head", self.number)),
            WebhookSender::Bitbucket | WebhookSender::Generic => None,
        }
    }
}

/// What happened to a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PullRequestAction {
    /// It was opened or reopened.
    Opened,
    /// Its commits or its target branch changed.
    Updated,
    /// It was merged or closed.
    Closed,
    /// A change that affects no commit: a label, a review, a title.
    Other,
}
