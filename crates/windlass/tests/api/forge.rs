//! The outbox for forges: comments updated in place, transient failures, and permanent ones.

use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use windlass_core::id::RepositoryId;
use windlass_store::{ForgeReport, NewForgeReport, ReportKind, ReportState};
use windlass_testkit::servers::{FakeForge, ForgeFlavour};

use crate::harness::{FLEET, Installation, Person, config, file_url, fleet, now};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A server with a repository whose fake forge gets only comments.
struct ForgeSetup {
    installation: Installation,
    admin: Person,
    forge: FakeForge,
    repository: RepositoryId,
}

impl ForgeSetup {
    async fn start(flavour: ForgeFlavour) -> ForgeSetup {
        let forge = FakeForge::start(flavour);
        let directory = tempfile::tempdir().unwrap();
        let token = directory.path().join("token.json");
        let mut file =
            std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(token).unwrap();
        let text = json!({"token": FakeForge::TOKEN}).to_string();
        std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        let mut config = config(directory.path());
        config.control.credentials = windlass_server::credentials_in(directory.path());
        config.control.forge_api_hosts = vec![forge.host()];
        let installation = Installation::start_with(directory, config).await;
        let admin = installation.admin().await;
        let work = fleet(FLEET);
        let body = json!({"gitops_repository": {
            "name": "fleet", "repo_url": file_url(&work), "enabled": false,
            "forge": {"kind": forge.kind(), "api_url": forge.url(), "project": "acme/fleet",
                      "credential_path": "token", "commit_status": false},
        }});
        let made = installation.tell(&admin.token, "POST", "/api/v1/system/gitops_repositories", &body).await;
        let repository = made.expect(201)["gitops_repository"]["id"].as_str().unwrap().to_owned();
        let repository = RepositoryId::new(repository);
        ForgeSetup { installation, admin, forge, repository }
    }

    /// Sets the desired comment, as a preview does.
    async fn comment(&self, text: &str) {
        let content = format!("<!-- windlass:{} -->\n{text}", self.repository);
        let report = NewForgeReport {
            account_id: &self.installation.account,
            repository_id: &self.repository,
            kind: ReportKind::Comment,
            subject: "7",
            content: &content,
            run_id: None,
        };
        let mut writing = self.installation.store.write_account(&self.installation.account).await.unwrap();
        writing.forge_report_put(&report, now()).await.unwrap();
        writing.commit().await.unwrap();
    }

    async fn report(&self) -> ForgeReport {
        let mut reading = self.installation.store.read().await.unwrap();
        let account = &self.installation.account;
        let mut all = reading.forge_reports(account, &self.repository, ReportKind::Comment, 9).await.unwrap();
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    }

    /// Polls the report until it satisfies a condition.
    async fn wait(&self, is_it: impl Fn(&ForgeReport) -> bool) -> ForgeReport {
        let begun = Instant::now();
        loop {
            let report = self.report().await;
            if is_it(&report) {
                return report;
            }
            assert!(begun.elapsed() < TIMEOUT, "{report:?}");
            tokio::task::yield_now().await;
        }
    }

    async fn sent(&self, text: &str) {
        self.wait(|report| report.state == ReportState::Sent && report.content.ends_with(text)).await;
    }

    async fn repository(&self) -> Value {
        let path = format!("/api/v1/system/gitops_repositories/{}", self.repository);
        self.installation.get(&self.admin, &path).await["gitops_repository"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_comment_is_written_and_changed_in_place_however_often_it_is_said() {
    for flavour in [ForgeFlavour::GitHub, ForgeFlavour::Gitea, ForgeFlavour::GitLab] {
        let setup = ForgeSetup::start(flavour).await;
        let planted = format!("<!-- windlass:{} -->\nplanted", setup.repository);
        setup.forge.write_comment(7, 66, &planted);
        setup.comment("plan one").await;
        setup.sent("plan one").await;
        setup.comment("plan one").await;
        setup.comment("plan two").await;
        setup.sent("plan two").await;
        let comments = setup.forge.comments();
        let told: Vec<(i64, bool)> =
            comments.iter().map(|comment| (comment.author, comment.body.ends_with("plan two"))).collect();
        assert_eq!(told, [(66, false), (FakeForge::USER_ID, true)], "{comments:?}");
        assert!(setup.forge.statuses().is_empty(), "statuses are switched off");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_for_now_is_tried_again_and_what_it_was_is_shown_meanwhile() {
    let setup = ForgeSetup::start(ForgeFlavour::GitHub).await;
    setup.forge.prepare(429, &[("retry-after", "3600")], json!({"message": "slow down"}));
    setup.comment("plan").await;
    let busy = setup.wait(|report| report.attempts == 1).await;
    assert!(busy.next_at.elapsed_since(busy.updated_at) >= Duration::from_secs(3600), "{busy:?}");
    let shown = setup.repository().await["forge"].clone();
    assert!(shown["last_error"].as_str().unwrap().contains("limits requests"), "{shown}");
    // New content does not wait for the Retry-After of the last one; it fails once and then succeeds.
    setup.forge.prepare(500, &[], json!(null));
    setup.comment("another plan").await;
    setup.sent("another plan").await;
    assert_eq!(setup.repository().await["forge"]["last_error"], Value::Null);
    let requests = setup.forge.requests();
    assert_eq!(requests.iter().filter(|request| request.path == "/api/v3/user").count(), 3, "{requests:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_mends_is_given_up_with_an_event_and_begins_anew_with_a_change() {
    let setup = ForgeSetup::start(ForgeFlavour::GitHub).await;
    setup.forge.revoke_write_permission();
    // Set to two failures, otherwise the test would wait for minutes.
    setup.comment("plan").await;
    let first = setup.wait(|report| report.attempts == 1).await;
    let store = &setup.installation.store;
    let mut writing = store.write_account(&setup.installation.account).await.unwrap();
    assert!(writing.forge_report_mark_failed(&first, "again", Some(now()), now()).await.unwrap());
    writing.commit().await.unwrap();
    let last = setup.wait(|report| report.state == ReportState::Failed).await;
    assert!(last.last_error.unwrap().contains("may not comment on pull request 7 of acme/fleet"));
    let events = setup.installation.get(&setup.admin, "/api/v1/system/fleet_events?kind=forge.").await;
    let event = &events["fleet_events"][0];
    assert_eq!(
        (&event["kind"], &event["severity"]),
        (&json!("forge.report_failed"), &json!("medium")),
        "{events}"
    );
    assert_eq!(
        (&event["payload"]["code"], &event["payload"]["subject"]),
        (&json!("forge-forbidden"), &json!("7"))
    );
    assert!(!events.to_string().contains(FakeForge::TOKEN));
    let path = format!("/api/v1/system/gitops_repositories/{}", setup.repository);
    let body = json!({"gitops_repository": {"branch": "main"}});
    setup.installation.tell(&setup.admin.token, "PATCH", &path, &body).await.expect(200);
    setup.wait(|report| report.state == ReportState::Waiting && report.attempts == 1).await;
}
