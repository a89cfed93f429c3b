//! The bodies of GitHub, and of Gitea and Forgejo, which use the same format.

use serde::Deserialize;

use super::delivery_content::{CommitOrigin, DeliveryContent, PullRequestAction};
use super::shared_parts::{RefBody, parse, pull_request, push_of_refs};

#[derive(Deserialize)]
struct PullRequestBody {
    #[serde(default)]
    action: String,
    number: u64,
    pull_request: Ends,
}

#[derive(Deserialize)]
struct Ends {
    head: End,
    base: Base,
}

#[derive(Deserialize)]
struct End {
    r#ref: String,
    sha: String,
    /// None if the fork was deleted.
    #[serde(default)]
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Base {
    r#ref: String,
    #[serde(default)]
    repo: Option<Repo>,
}

#[derive(Deserialize)]
struct Repo {
    #[serde(default)]
    id: Option<u64>,
}

fn id_of(repo: Option<Repo>) -> Option<u64> {
    repo.and_then(|repo| repo.id)
}

pub(super) fn read(event: &str, body: &[u8]) -> Option<DeliveryContent> {
    match event {
        "push" => push_of_refs([parse::<RefBody>(body)?.r#ref]),
        // Gitea sends separate events for new commits and for reviews.
        "pull_request" | "pull_request_sync" => {
            let body: PullRequestBody = parse(body)?;
            let action = match body.action.as_str() {
                "opened" | "reopened" => PullRequestAction::Opened,
                "synchronize" | "synchronized" | "edited" => PullRequestAction::Updated,
                "closed" => PullRequestAction::Closed,
                _ => PullRequestAction::Other,
            };
            let Ends { head, base } = body.pull_request;
            let origin = CommitOrigin::of(id_of(head.repo), id_of(base.repo));
            pull_request(body.number, action, head.sha, [&head.r#ref, &base.r#ref], origin)
        }
        "ping" => Some(DeliveryContent::Ping),
        _ => Some(DeliveryContent::Other),
    }
}
