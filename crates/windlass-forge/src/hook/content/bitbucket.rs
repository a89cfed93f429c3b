//! The bodies of Bitbucket Cloud, and those of Data Center, whose fields have other names.

use serde::Deserialize;

use super::delivery_content::{CommitOrigin, DeliveryContent, PullRequestAction};
use super::shared_parts::{BRANCH_PREFIX, parse, pull_request, push_of_refs};

#[derive(Deserialize)]
struct CloudPush {
    push: CloudChanges,
}

#[derive(Deserialize)]
struct CloudChanges {
    changes: Vec<CloudChange>,
}

#[derive(Deserialize)]
struct CloudChange {
    #[serde(default)]
    new: Option<CloudRef>,
    #[serde(default)]
    old: Option<CloudRef>,
}

#[derive(Deserialize)]
struct CloudRef {
    r#type: String,
    name: String,
}

#[derive(Deserialize)]
struct CloudPullRequest {
    pullrequest: CloudEnds,
}

#[derive(Deserialize)]
struct CloudEnds {
    id: u64,
    source: CloudEnd,
    destination: CloudEnd,
}

#[derive(Deserialize)]
struct CloudEnd {
    branch: NamedRef,
    commit: CloudCommit,
    #[serde(default)]
    repository: Option<CloudRepository>,
}

#[derive(Deserialize)]
struct CloudRepository {
    #[serde(default)]
    uuid: Option<String>,
}

#[derive(Deserialize)]
struct NamedRef {
    name: String,
}

#[derive(Deserialize)]
struct CloudCommit {
    hash: String,
}

#[derive(Deserialize)]
struct CenterPush {
    changes: Vec<CenterChange>,
}

#[derive(Deserialize)]
struct CenterChange {
    r#ref: CenterRef,
}

#[derive(Deserialize)]
struct CenterRef {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CenterPullRequest {
    pull_request: CenterEnds,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CenterEnds {
    id: u64,
    from_ref: CenterEnd,
    to_ref: CenterEnd,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CenterEnd {
    id: String,
    latest_commit: String,
    #[serde(default)]
    repository: Option<CenterRepository>,
}

#[derive(Deserialize)]
struct CenterRepository {
    #[serde(default)]
    id: Option<u64>,
}

pub(super) fn read(event: &str, body: &[u8]) -> Option<DeliveryContent> {
    use PullRequestAction::{Closed, Opened, Updated};
    match event {
        "repo:push" => {
            let changes = parse::<CloudPush>(body)?.push.changes;
            let refs = changes.into_iter().flat_map(|change| [change.new, change.old]).flatten();
            push_of_refs(
                refs.filter(|it| it.r#type == "branch").map(|it| format!("{BRANCH_PREFIX}{}", it.name)),
            )
        }
        "repo:refs_changed" => {
            push_of_refs(parse::<CenterPush>(body)?.changes.into_iter().map(|change| change.r#ref.id))
        }
        "pullrequest:created" => read_cloud_request(Opened, body),
        "pullrequest:updated" => read_cloud_request(Updated, body),
        "pullrequest:fulfilled" | "pullrequest:rejected" => read_cloud_request(Closed, body),
        "pr:opened" => read_center_request(Opened, body),
        "pr:from_ref_updated" | "pr:modified" => read_center_request(Updated, body),
        "pr:merged" | "pr:declined" | "pr:deleted" => read_center_request(Closed, body),
        "diagnostics:ping" => Some(DeliveryContent::Ping),
        _ => Some(DeliveryContent::Other),
    }
}

fn read_cloud_request(action: PullRequestAction, body: &[u8]) -> Option<DeliveryContent> {
    let CloudEnds { id, source, destination } = parse::<CloudPullRequest>(body)?.pullrequest;
    let id_of = |end: Option<CloudRepository>| end.and_then(|it| it.uuid);
    let origin = CommitOrigin::of(id_of(source.repository), id_of(destination.repository));
    pull_request(id, action, source.commit.hash, [&source.branch.name, &destination.branch.name], origin)
}

fn read_center_request(action: PullRequestAction, body: &[u8]) -> Option<DeliveryContent> {
    let CenterEnds { id, from_ref, to_ref } = parse::<CenterPullRequest>(body)?.pull_request;
    let branches = [from_ref.id.strip_prefix(BRANCH_PREFIX)?, to_ref.id.strip_prefix(BRANCH_PREFIX)?];
    let id_of = |end: &Option<CenterRepository>| end.as_ref().and_then(|it| it.id);
    let origin = CommitOrigin::of(id_of(&from_ref.repository), id_of(&to_ref.repository));
    pull_request(id, action, from_ref.latest_commit, branches, origin)
}
