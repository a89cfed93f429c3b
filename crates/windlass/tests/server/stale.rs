//! Proposals from before a failed sync, before the confirmation of a mass destroy, or before a window opens.

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::types::{BatchDecision, ConfirmFailureBody, RunEnvelope, RunInfo, SyncBody};
use windlass_core::time::Timestamp;
use windlass_testkit::servers::WorkTree;

use crate::api::{Api, refused};
use crate::fleet::{nodes, register, repository_with};
use crate::installation::{Installation, Server};

/// A server with a proposed destroy and, after that, a failed sync.
struct Stale {
    server: Server,
    work: WorkTree,
    repository: String,
    destroy: String,
    failed: RunInfo,
    _installation: Installation,
}

impl Stale {
    fn new() -> Stale {
        let installation = Installation::new();
        let server = installation.serve(&[]);
        let work = repository_with(&nodes("web", "web", 0..3));
        let repository = register(&server.api, "fleet-config", &work).id;
        assert_eq!(server.api.apply_all(&repository).unwrap().status.slug(), "applied");
        work.commit("fleet.yaml", &nodes("web", "web", 0..2));
        let destroy = server.api.sync(&repository).unwrap().proposals.remove(0);
        assert_eq!(destroy.change.word(), "destroy");
        work.commit("fleet.yaml", "version: 1\naccount: [\n");
        let failed = server.api.sync(&repository).unwrap();
        assert_eq!(failed.status.slug(), "failed");
        Stale { server, work, repository, destroy: destroy.id, failed, _installation: installation }
    }

    fn api(&self) -> &Api {
        &self.server.api
    }

    /// Approves the destroy, and waits until it shows its hold.
    fn approve_and_be_held(&self) {
        self.api().approve(&self.destroy).unwrap();
        let held = self.api().wait_for("the reason", |api| {
            // The loop checked it, not only the request.
            let run = api.run(&api.proposal(&self.destroy).ok()?.run_id).ok()?;
            run.proposals.into_iter().find(|it| it.id == self.destroy && !it.blocked_by.is_empty())
        });
        assert_eq!(held.status.slug(), "approved");
        assert!(held.blocked_by[0].starts_with("the last sync of fleet-config failed: "), "{held:?}");
        assert_eq!(self.api().resources().unwrap().len(), 4);
    }

    fn confirm(&self, run: &str) -> crate::api::Result<RunEnvelope> {
        let body = ConfirmFailureBody { reason: Some("git is down for hours".to_owned()) };
        self.api().send(self.api().call(Operation::RunConfirmFailure, &[run]).body(&body))
    }
}

#[test]
fn proposals_of_a_repository_whose_newest_sync_failed_are_held_until_one_succeeds() {
    let stale = Stale::new();
    let pending = stale.api().proposal(&stale.destroy).unwrap();
    assert!(pending.blocked_by.iter().any(|reason| reason.contains("failed")), "{pending:?}");
    assert!(stale.api().run(&stale.failed.id).unwrap().holds_proposals);
    stale.approve_and_be_held();
    // Git wants the node after all: it was never destroyed.
    stale.work.commit("fleet.yaml", &nodes("web", "web", 0..3));
    assert_eq!(stale.api().sync(&stale.repository).unwrap().status.slug(), "success");
    assert_eq!(stale.api().proposal(&stale.destroy).unwrap().status.slug(), "withdrawn");
    assert_eq!(stale.api().resources().unwrap().len(), 4);
    stale.server.stop();
}

#[test]
fn what_is_held_is_applied_when_the_next_sync_still_wants_it() {
    let stale = Stale::new();
    stale.approve_and_be_held();
    stale.work.commit("fleet.yaml", &nodes("web", "web", 0..2));
    stale.api().sync(&stale.repository).unwrap();
    stale.api().wait_for_status(&stale.destroy, "applied");
    assert_eq!(stale.api().resources().unwrap().len(), 3);
    stale.server.stop();
}

#[test]
fn a_confirmation_releases_what_one_failed_run_holds_and_no_more() {
    let stale = Stale::new();
    stale.approve_and_be_held();
    let again = stale.api().sync(&stale.repository).unwrap();
    assert_eq!(again.status.slug(), "failed");
    assert_eq!(refused(stale.confirm(&stale.failed.id)).0, 422, "it is not the newest any more");
    let confirmed = stale.confirm(&again.id).unwrap();
    assert!(!confirmed.sync_run.holds_proposals);
    stale.api().wait_for_status(&stale.destroy, "applied");
    let entries = stale.api().audit().unwrap();
    let confirmations: Vec<_> =
        entries.iter().filter(|it| it.action == "run.confirm_failure" && it.outcome == "done").collect();
    assert_eq!(confirmations.len(), 1);
    assert_eq!(confirmations[0].detail["reason"], "git is down for hours");
    let third = stale.api().sync(&stale.repository).unwrap();
    assert!(stale.api().run(&third.id).unwrap().holds_proposals, "the next failure holds again");
    stale.server.stop();
}

#[test]
fn a_mass_destroy_is_confirmed_once_for_all_batches_of_its_commit() {
    let installation = Installation::new();
    let server = installation.serve(&["--max-proposals-per-tick", "5"]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..30));
    let repository = register(api, "fleet-config", &work).id;
    let run = api.sync(&repository).unwrap();
    api.approve_set(&run.id, &json!({"digest": run.sets[0].digest})).unwrap();
    api.wait_for_run(&run.id, "applied");
    work.commit("fleet.yaml", &nodes("web", "web", 0..2));
    let stopped = api.sync(&repository).unwrap();
    assert_eq!(stopped.error.unwrap().code, "mass-destroy");
    let confirmed =
        api.sync_with(&repository, &SyncBody { confirm_mass_destroy: true, ..SyncBody::default() }).unwrap();
    assert_eq!((confirmed.error.as_ref(), confirmed.proposals.len()), (None, 5));
    api.decide(&confirmed, BatchDecision::Approve).unwrap();
    api.wait_until_applied(&confirmed.id).unwrap();
    let next = api.sync(&repository).unwrap();
    assert_eq!(next.error, None, "it was confirmed for this commit");
    // A commit that destroys as much needs another confirmation.
    work.commit("fleet.yaml", &nodes("web", "web", 0..1));
    assert_eq!(api.sync(&repository).unwrap().error.unwrap().code, "mass-destroy");
    server.stop();
}

/// The day of the week three days from now, as policies spell it.
fn far_day() -> &'static str {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let days = usize::try_from(since.as_secs() / 86_400).unwrap();
    // The first of January 1970 was a Thursday.
    ["thu", "fri", "sat", "sun", "mon", "tue", "wed"][(days + 3) % 7]
}

#[test]
fn what_waits_only_for_its_window_does_not_expire_before_the_window_ends() {
    let installation = Installation::new();
    let server = installation.serve(&["--proposal-lifetime", "1s"]);
    let api = &server.api;
    let rules = json!([{"name": "later", "action": "auto_approve", "windows": [{"days": [far_day()]}]}]);
    let body = json!({"policy": {"rules": rules}});
    api.text(api.call(Operation::PolicyReplace, &[]).body(&body)).unwrap();
    let work = repository_with(&nodes("web", "web", 0..1));
    let repository = register(api, "fleet-config", &work).id;
    let proposal = api.sync(&repository).unwrap().proposals.remove(0);
    let kept = api.wait_for("another end", |api| {
        let found = api.proposal(&proposal.id).unwrap();
        assert_eq!(found.status.slug(), "approved", "{found:?}");
        let (opened, expires) = (Timestamp::parse(&found.opened_at)?, Timestamp::parse(&found.expires_at)?);
        (expires.elapsed_since(opened).as_secs() > 86_400).then_some(found)
    });
    assert!(kept.expires_at.contains("T00:00:00"), "the end of the window's day: {}", kept.expires_at);
    server.stop();
}
