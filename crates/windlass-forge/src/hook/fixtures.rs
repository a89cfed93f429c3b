//! Deliveries as forges send them: the headers, the relevant parts of the bodies, and some other fields.

use serde_json::{Value, json};

use super::WebhookSender;

/// A delivery before it is signed.
pub(super) struct Fixture {
    pub(super) sender: WebhookSender,
    pub(super) event: &'static str,
    pub(super) body: Value,
}

const OLD: &str = "95790bf891e76fee5e1747ab589903a6a1f80f22";
pub(super) const NEW: &str = "da1560886d4f094c3e6c9ef40349f7d38b5d27d7";

fn fixture(sender: WebhookSender, event: &'static str, body: Value) -> Fixture {
    Fixture { sender, event, body }
}

/// A push to `main`, from every sender.
pub(super) fn pushes() -> Vec<Fixture> {
    let github = json!({"ref": "refs/heads/main", "before": OLD, "after": NEW, "created": false, "forced": false,
        "repository": {"id": 7, "full_name": "acme/fleet", "private": true, "pushed_at": 1_763_251_200},
        "pusher": {"name": "ana", "email": "ana@example.com"}, "commits": [{"id": NEW, "message": "more nodes", "modified": ["fleet.yaml"]}]});
    let gitlab = json!({"object_kind": "push", "event_name": "push", "before": OLD, "after": NEW,
        "ref": "refs/heads/main", "checkout_sha": NEW, "user_username": "ana", "user_email": "ana@example.com", "project": {"id": 15, "path_with_namespace": "acme/fleet"},
        "commits": [{"id": NEW, "title": "more nodes"}], "total_commits_count": 1});
    let cloud = json!({"actor": {"nickname": "ana", "display_name": "Ana"}, "repository": {"full_name": "acme/fleet"},
        "push": {"changes": [
            {"old": {"type": "branch", "name": "main", "target": {"hash": OLD}},
             "new": {"type": "branch", "name": "main", "target": {"hash": NEW}}, "forced": false, "closed": false},
            {"old": null, "new": {"type": "tag", "name": "v1", "target": {"hash": NEW}}, "created": true}]}});
    let center = json!({"eventKey": "repo:refs_changed", "date": "2026-11-16T08:00:00+0000",
        "actor": {"name": "ana", "emailAddress": "ana@example.com"},
        "repository": {"slug": "fleet", "project": {"key": "ACME"}},
        "changes": [{"ref": {"id": "refs/heads/main", "displayId": "main", "type": "BRANCH"},
            "refId": "refs/heads/main", "fromHash": OLD, "toHash": NEW, "type": "UPDATE"}]});
    vec![
        fixture(WebhookSender::GitHub, "push", github.clone()),
        fixture(WebhookSender::Gitea, "push", github),
        fixture(WebhookSender::GitLab, "Push Hook", gitlab.clone()),
        fixture(WebhookSender::GitLab, "System Hook", gitlab),
        fixture(WebhookSender::Bitbucket, "repo:push", cloud),
        fixture(WebhookSender::Bitbucket, "repo:refs_changed", center),
        fixture(
            WebhookSender::Generic,
            "",
            json!({"ref": "refs/heads/main", "after": NEW, "pusher": "ana@example.com"}),
        ),
    ]
}

/// An update of pull request 3 from `more-nodes` into `main` at [`NEW`], from every sender that has pull requests.
pub(super) fn pull_requests() -> Vec<Fixture> {
    let github = |action: &str| {
        json!({"action": action, "number": 3, "pull_request": {"id": 99, "title": "More nodes",
            "head": {"ref": "more-nodes", "sha": NEW, "repo": {"full_name": "ana/fleet", "fork": true}},
            "base": {"ref": "main", "sha": OLD}}})
    };
    let gitlab = json!({"object_kind": "merge_request", "project": {"id": 15}, "object_attributes": {
        "id": 99, "iid": 3, "action": "update", "oldrev": OLD, "source_branch": "more-nodes",
        "target_branch": "main", "last_commit": {"id": NEW, "message": "more"}, "state": "opened"}});
    let cloud = json!({"pullrequest": {"id": 3, "state": "OPEN", "source": {"branch": {"name": "more-nodes"},
        "commit": {"hash": NEW}}, "destination": {"branch": {"name": "main"}, "commit": {"hash": OLD}}}});
    let center = json!({"eventKey": "pr:from_ref_updated", "pullRequest": {"id": 3, "open": true,
        "fromRef": {"id": "refs/heads/more-nodes", "displayId": "more-nodes", "latestCommit": NEW},
        "toRef": {"id": "refs/heads/main", "displayId": "main", "latestCommit": OLD}}, "previousFromHash": OLD});
    vec![
        fixture(WebhookSender::GitHub, "pull_request", github("synchronize")),
        fixture(WebhookSender::Gitea, "pull_request", github("synchronized")),
        fixture(WebhookSender::Gitea, "pull_request_sync", github("synchronized")),
        fixture(WebhookSender::GitLab, "Merge Request Hook", gitlab),
        fixture(WebhookSender::Bitbucket, "pullrequest:updated", cloud),
        fixture(WebhookSender::Bitbucket, "pr:from_ref_updated", center),
    ]
}
