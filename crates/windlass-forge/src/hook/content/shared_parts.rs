//! Parts of bodies that several forges share.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::delivery_content::{CommitOrigin, DeliveryContent, PullRequest, PullRequestAction};

/// The longest branch name; git's own limit is similar on most file systems.
const MAX_BRANCH_CHARS: usize = 255;

/// Parses a body as a type. The parser limits the nesting; the caller limited the size.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

/// A push of one ref.
#[derive(Deserialize)]
pub(super) struct RefBody {
    pub(super) r#ref: String,
}

/// The prefix of branches among refs.
pub(super) const BRANCH_PREFIX: &str = "refs/heads/";

/// A push of these refs; refs that are not branches are ignored.
pub(super) fn push_of_refs(refs: impl IntoIterator<Item = String>) -> Option<DeliveryContent> {
    let mut branches = Vec::new();
    for name in refs {
        if let Some(branch) = name.strip_prefix(BRANCH_PREFIX) {
            branches.push(valid_branch(branch)?);
        }
    }
    branches.dedup();
    Some(DeliveryContent::Push { branches })
}

pub(super) fn pull_request(
    number: u64,
    action: PullRequestAction,
    head_sha: String,
    [head, base]: [impl AsRef<str>; 2],
    origin: CommitOrigin,
) -> Option<DeliveryContent> {
    // Bitbucket Cloud shortens commit ids to 12 digits.
    let is_commit =
        (12..=64).contains(&head_sha.len()) && head_sha.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !is_commit {
        return None;
    }
    let (head_branch, base_branch) = (valid_branch(head.as_ref())?, valid_branch(base.as_ref())?);
    Some(DeliveryContent::PullRequest(PullRequest {
        number,
        action,
        head_sha,
        head_branch,
        base_branch,
        origin,
    }))
}

/// The name of a branch, if it is valid and safe to display.
fn valid_branch(branch: &str) -> Option<String> {
    let is_plain =
        (1..=MAX_BRANCH_CHARS).contains(&branch.len()) && !branch.chars().any(|c| c.is_control() || c == ' ');
    is_plain.then(|| branch.to_owned())
}
