//! The bodies of GitLab. A system hook also sends those of projects, so the kind in the body counts and not the header.

use serde::Deserialize;

use super::delivery_content::{CommitOrigin, DeliveryContent, PullRequestAction};
use super::shared_parts::{RefBody, parse, pull_request, push_of_refs};

#[derive(Deserialize)]
struct GitLabBody {
    object_kind: String,
}

#[derive(Deserialize)]
struct MergeBody {
    object_attributes: MergeRequest,
}

#[derive(Deserialize)]
struct MergeRequest {
    iid: u64,
    #[serde(default)]
    action: String,
    /// Present if the commits changed.
    #[serde(default)]
    oldrev: Option<String>,
    source_branch: String,
    target_branch: String,
    #[serde(default)]
    source_project_id: Option<u64>,
    #[serde(default)]
    target_project_id: Option<u64>,
    last_commit: LastCommit,
}

#[derive(Deserialize)]
struct LastCommit {
    id: String,
}

pub(super) fn read(event: &str, body: &[u8]) -> Option<DeliveryContent> {
    if !matches!(event, "Push Hook" | "Merge Request Hook" | "System Hook") {
        return Some(DeliveryContent::Other);
    }
    match parse::<GitLabBody>(body)?.object_kind.as_str() {
        "push" => push_of_refs([parse::<RefBody>(body)?.r#ref]),
        "merge_request" => {
            let merge = parse::<MergeBody>(body)?.object_attributes;
            let action = match (merge.action.as_str(), &merge.oldrev) {
                ("open" | "reopen", _) => PullRequestAction::Opened,
                ("update", Some(_)) => PullRequestAction::Updated,
                ("close" | "merge", _) => PullRequestAction::Closed,
                _ => PullRequestAction::Other,
            };
            let branches = [&merge.source_branch, &merge.target_branch];
            let origin = CommitOrigin::of(merge.source_project_id, merge.target_project_id);
            pull_request(merge.iid, action, merge.last_commit.id, branches, origin)
        }
        _ => Some(DeliveryContent::Other),
    }
}
