//! What a delivery says happened.

use crate::hook::sender::WebhookSender;

/// What a delivery says happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeliveryContent {
    /// Something; which branch, it does not say.
    UnspecifiedChange,
    /// These branches were moved, made or deleted. Tags are none.
    Push {
        /// By name, without `refs/heads/`.
        branches: Vec<String>,
    },
    /// A pull request was opened, changed or closed.
    PullRequest(PullRequest),
    /// Nothing: someone tries the webhook.
    Ping,
    /// Something that is of no use here.
    Other,
    /// It cannot be read as what its header says.
    Unreadable,
}

/// A pull request, or merge request, as its forge tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PullRequest {
    /// Its number in the repository.
    pub number: u64,
    /// What happened to it.
    pub action: PullRequestAction,
    /// The commit it would merge, in hex digits; Bitbucket Cloud tells only the first 12.
    pub head_sha: String,
    /// The branch of that commit, perhaps in another repository.
    pub head_branch: String,
    /// The branch it would be merged into.
    pub base_branch: String,
    /// Whose commit that is.
    pub origin: CommitOrigin,
}

/// Where the commit of a pull request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitOrigin {
    /// A branch of the repository itself: someone made it who may push there.
    Repository,
    /// Another repository, or nobody says: anybody may have made it.
    Fork,
}

impl CommitOrigin {
    /// Of the repositories of head and base, as far as the forge tells.
    pub(super) fn of<T: PartialEq>(head: Option<T>, base: Option<T>) -> CommitOrigin {
        match (head, base) {
            (Some(head), Some(base)) if head == base => CommitOrigin::Repository,
            _ => CommitOrigin::Fork,
        }
    }
}

impl PullRequest {
    /// The reference under which its forge offers its head to be fetched; none where there is none.
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
    /// It was opened, or opened again.
    Opened,
    /// It has other commits, or another base.
    Updated,
    /// It was merged or given up.
    Closed,
    /// Something that changes no commit: a label, a review, a title.
    Other,
}
