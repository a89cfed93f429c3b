//! A real server previews pull requests when the forge reports them, and comments on fake forges. Nothing is proposed.

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{
    ForgeFields, PreviewList, ProposalList, QuarantinedWork, RepositoryFields, WebhookShown,
};
use windlass_testkit::servers::{FakeForge, ForgeFlavour, WorkTree};

use crate::api::Api;
use crate::fleet::{fields, nodes, repository_with};
use crate::installation::{Installation, Server};

/// A forge with a pull request, and a server with its webhook.
struct PullRequestSetup {
    flavour: ForgeFlavour,
    forge: FakeForge,
    work: WorkTree,
    credentials: tempfile::TempDir,
}

impl PullRequestSetup {
    fn new(flavour: ForgeFlavour) -> PullRequestSetup {
        let credentials = tempfile::tempdir().unwrap();
        let file = credentials.path().join("forge.json");
        std::fs::write(&file, json!({"token": FakeForge::TOKEN}).to_string()).unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let work = repository_with(&nodes("web", "web", 0..2));
        PullRequestSetup { flavour, forge: FakeForge::start(flavour), work, credentials }
    }

    fn serve(&self, installation: &Installation) -> Server {
        self.serve_with_crash_point(installation, None)
    }

    fn serve_with_crash_point(&self, installation: &Installation, point: Option<&str>) -> Server {
        let options = self.options();
        installation.serve_with_crash_point(point, &options.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn options(&self) -> [String; 6] {
        let (directory, host) = (self.credentials.path().display().to_string(), self.forge.host());
        let public = "https://windlass.example.com".to_owned();
        let [credentials, forge, url] =
            ["--credentials-dir", "--forge-api-host", "--public-url"].map(str::to_owned);
        [credentials, directory, forge, host, url, public]
    }

    fn register(&self, api: &Api) -> String {
        let forge = ForgeFields {
            kind: Some(self.forge.kind().to_owned()),
            api_url: Some(self.forge.url()),
            project: Some("acme/fleet".to_owned()),
            credential_path: Some("forge".to_owned()),
            ..ForgeFields::default()
        };
        api.register(RepositoryFields {
            forge: Some(forge),
            enabled: Some(true),
            ..fields("fleet", &self.work)
        })
        .unwrap()
        .id
    }

    /// Sets the head of pull request 3 to a fleet; returns its commit.
    fn propose(&self, fleet: &str) -> String {
        let reference = match self.flavour {
            ForgeFlavour::GitLab => "refs/merge-requests/3/head",
            _ => "refs/pull/3/head",
        };
        self.work.git(&["checkout", "--quiet", "-B", "more"]);
        let commit = self.work.commit("fleet.yaml", fleet);
        self.work.git(&["update-ref", reference, &commit]);
        self.work.git(&["checkout", "--quiet", "main"]);
        commit
    }

    /// Delivers the event of an opened or updated pull request.
    fn deliver_event(&self, server: &Server, repository: &str, action: &str, commit: &str) -> Value {
        self.deliver_event_from(7, server, repository, (action, commit))
    }

    /// The same for a pull request whose commits are in the repository with this id.
    fn deliver_event_from(
        &self,
        origin: u64,
        server: &Server,
        repository: &str,
        (action, commit): (&str, &str),
    ) -> Value {
        let call = server.api.call(Operation::RepositoryWebhook, &[repository]);
        let webhook: WebhookShown = server.api.send(call).unwrap();
        let (event, body) = match self.flavour {
            ForgeFlavour::GitLab => {
                let action = if action == "opened" { "open" } else { "update" };
                let attributes = json!({"iid": 3, "action": action, "oldrev": commit, "source_branch": "more",
                    "target_branch": "main", "last_commit": {"id": commit},
                    "source_project_id": origin, "target_project_id": 7});
                (
                    "Merge Request Hook",
                    json!({"object_kind": "merge_request", "object_attributes": attributes}),
                )
            }
            _ => (
                "pull_request",
                json!({"action": action, "number": 3, "pull_request": {
                    "head": {"ref": "more", "sha": commit, "repo": {"id": origin}},
                    "base": {"ref": "main", "repo": {"id": 7}}}}),
            ),
        };
        let body = body.to_string();
        let key = aws_lc_rs::hmac::Key::new(aws_lc_rs::hmac::HMAC_SHA256, webhook.secret.as_bytes());
        let tag = aws_lc_rs::hmac::sign(&key, body.as_bytes());
        let tag: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        let headers = match self.flavour {
            ForgeFlavour::GitHub => {
                [("x-github-event", event), ("x-hub-signature-256", &*format!("sha256={tag}"))]
                    .map(|(name, value)| (name, value.to_owned()))
            }
            ForgeFlavour::Gitea => [("x-gitea-event", event.to_owned()), ("x-gitea-signature", tag)],
            ForgeFlavour::GitLab => {
                [("x-gitlab-event", event.to_owned()), ("x-gitlab-token", webhook.secret)]
            }
        };
        let url = format!("{}/api/v1/webhooks/{repository}", server.address);
        let mut request = reqwest::Client::new().post(url).body(body);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let text = runtime.block_on(async { request.send().await.unwrap().text().await.unwrap() });
        serde_json::from_str(&text).unwrap()
    }

    /// Waits until our comment contains this text.
    fn comment(&self, api: &Api, words: &str) -> String {
        api.wait_for(&format!("a comment with {words}"), |_| {
            let comments = self.forge.comments();
            assert!(comments.len() < 2, "it is changed in place: {comments:?}");
            comments.into_iter().find(|comment| comment.number == "3" && comment.body.contains(words))
        })
        .body
    }

    fn status(&self, api: &Api, commit: &str) -> Value {
        api.wait_for("a status of the pull request's commit", |_| {
            let statuses = self.forge.statuses();
            statuses.into_iter().rev().find(|(of, _)| of == commit).map(|(_, status)| status)
        })
    }
}

#[test]
fn a_pull_request_is_planned_at_its_forge_and_proposes_nothing() {
    for flavour in [ForgeFlavour::GitHub, ForgeFlavour::Gitea, ForgeFlavour::GitLab] {
        let (setup, installation) = (PullRequestSetup::new(flavour), Installation::new());
        let server = setup.serve(&installation);
        let api = &server.api;
        let id = setup.register(api);
        api.apply_all(&id).unwrap();

        let commit = setup.propose(&nodes("web", "web", 0..4));
        assert_eq!(setup.deliver_event(&server, &id, "opened", &commit)["status"], "accepted");
        let told = setup.comment(api, "2 to create");
        assert!(
            told.contains("web-003") && told.contains("https://windlass.example.com/app/previews/"),
            "{told}"
        );
        let status = setup.status(api, &commit);
        assert_eq!(status["description"], "2 changes would be proposed", "{status}");

        // The same comment then shows the plan of the next commits, and their problems.
        let commit = setup.propose("version: 1\naccount: acme\nnodes:\n  a: {colour: red}\n");
        assert_eq!(setup.deliver_event(&server, &id, "synchronize", &commit)["status"], "accepted");
        let told = setup.comment(api, "errors");
        assert!(told.contains("colour") && !told.contains("web-003"), "{told}");
        let status = setup.status(api, &commit);
        let failed = if flavour == ForgeFlavour::GitLab { "failed" } else { "failure" };
        assert_eq!(status["state"], failed, "{status}");

        let previews: PreviewList = api.send(api.call(Operation::PreviewList, &[&id])).unwrap();
        assert_eq!(previews.previews.len(), 1, "{previews:?}");
        let open = api.call(Operation::ProposalList, &[]).query("status", "pending_approval");
        let open: ProposalList = api.send(open).unwrap();
        assert!(open.proposals.is_empty(), "{open:?}");
        server.stop();
    }
}

#[test]
fn a_reported_pull_request_is_planned_after_a_restart() {
    let (setup, installation) = (PullRequestSetup::new(ForgeFlavour::Gitea), Installation::new());
    let mut server = setup.serve(&installation);
    let id = setup.register(&server.api);
    server.api.apply_all(&id).unwrap();
    let commit = setup.propose(&nodes("web", "web", 0..3));
    // Fetching fails for now.
    let (there, away) = (setup.work.path().join(".git"), setup.work.path().join("away"));
    std::fs::rename(&there, &away).unwrap();
    assert_eq!(setup.deliver_event(&server, &id, "opened", &commit)["status"], "accepted");
    server.killer().kill();
    server.wait_for_end();
    std::fs::rename(&away, &there).unwrap();
    let server = setup.serve(&installation);
    setup.comment(&server.api, "1 to create");
    server.stop();
}

#[test]
fn a_pull_request_that_kills_the_server_twice_is_not_looked_at_a_third_time() {
    let (setup, installation) = (PullRequestSetup::new(ForgeFlavour::GitHub), Installation::new());
    let server = setup.serve(&installation);
    let id = setup.register(&server.api);
    server.api.apply_all(&id).unwrap();
    server.stop();
    let commit = setup.propose(&nodes("web", "web", 0..3));
    let mut first = setup.serve_with_crash_point(&installation, Some("preview.begun"));
    assert_eq!(setup.deliver_event(&first, &id, "opened", &commit)["status"], "accepted");
    first.wait_for_end();
    // The server reaches that point by itself after the start.
    let options = setup.options();
    let options: Vec<&str> = options.iter().map(String::as_str).collect();
    installation.serve_until_crash("preview.begun", &options);
    // The third start would reach the same point, but does not try.
    let mut server = setup.serve_with_crash_point(&installation, Some("preview.begun"));
    let told = setup.comment(&server.api, "quarantined");
    assert!(told.contains("crashed twice"), "{told}");
    let held = server.api.repository(&id).unwrap();
    assert_eq!(held.quarantines.len(), 1, "{held:?}");
    assert_eq!(held.quarantines[0].of, QuarantinedWork::PullRequests);
    assert_eq!(server.api.sync(&id).unwrap().error, None, "the repository itself is synced as ever");
    assert!(server.is_running());
    server.stop();
}

#[test]
fn a_pull_request_that_crashed_a_server_is_quarantined_if_it_cannot_finish_alone() {
    let (setup, installation) = (PullRequestSetup::new(ForgeFlavour::GitHub), Installation::new());
    let server = setup.serve(&installation);
    let id = setup.register(&server.api);
    server.api.apply_all(&id).unwrap();
    server.stop();
    let commit = setup.propose(&nodes("web", "web", 0..3));
    let mut first = setup.serve_with_crash_point(&installation, Some("preview.begun"));
    assert_eq!(setup.deliver_event(&first, &id, "opened", &commit)["status"], "accepted");
    first.wait_for_end();
    // Fetching fails from now on: each attempt alone delays all others and finds nothing.
    setup.work.git(&["update-ref", "-d", "refs/pull/3/head"]);
    let server = setup.serve(&installation);
    let told = setup.comment(&server.api, "quarantined");
    assert!(told.contains("2 attempts without other work did not finish"), "{told}");
    let held = server.api.repository(&id).unwrap();
    assert_eq!(held.quarantines[0].of, QuarantinedWork::PullRequests, "{held:?}");
    assert_eq!(server.api.sync(&id).unwrap().error, None, "the repository itself is synced as ever");
    server.stop();
}

#[test]
fn pull_requests_from_forks_are_planned_only_where_that_is_allowed() {
    for flavour in [ForgeFlavour::GitHub, ForgeFlavour::Gitea, ForgeFlavour::GitLab] {
        let (setup, installation) = (PullRequestSetup::new(flavour), Installation::new());
        let mut server = setup.serve(&installation);
        let id = setup.register(&server.api);
        server.api.apply_all(&id).unwrap();
        let commit = setup.propose(&nodes("web", "web", 0..3));
        let told = setup.deliver_event_from(8, &server, &id, ("opened", &commit));
        assert_eq!(told["status"], "ignored", "{told}");
        assert!(told.to_string().contains("previews_of_forks"), "{told}");
        let forge = ForgeFields { previews_of_forks: Some(true), ..ForgeFields::default() };
        let allowed = RepositoryFields { forge: Some(forge), ..RepositoryFields::default() };
        assert!(server.api.configure(&id, allowed).unwrap().forge.unwrap().previews_of_forks);
        assert_eq!(setup.deliver_event_from(8, &server, &id, ("synchronize", &commit))["status"], "accepted");
        setup.comment(&server.api, "1 to create");

        // A path bomb from a fork is reported as such.
        setup.work.git(&["checkout", "--quiet", "-B", "bomb"]);
        let main = setup.work.git(&["rev-parse", "main"]);
        let bomb = setup.work.commit_path_bomb(10, 10);
        setup.work.git(&["update-ref", "refs/heads/main", &main]);
        let reference =
            if flavour == ForgeFlavour::GitLab { "refs/merge-requests/3/head" } else { "refs/pull/3/head" };
        setup.work.git(&["update-ref", reference, &bomb]);
        assert_eq!(setup.deliver_event_from(8, &server, &id, ("synchronize", &bomb))["status"], "accepted");
        setup.comment(&server.api, "200000 names");
        assert!(server.is_running());
        server.stop();
    }
}
