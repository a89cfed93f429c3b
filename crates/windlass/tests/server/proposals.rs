//! What happens to a proposal when git or the accepted state changes, or time passes, before it is applied.

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{BatchDecision, ProposalEnvelope, RunProposal};
use windlass_testkit::servers::WorkTree;

use crate::api::{Api, refused};
use crate::fleet::{nodes, register, repository_with};
use crate::installation::{Installation, Server};

/// A server with one repository whose template and node are accepted, and in which the node has changed since.
struct Moved {
    server: Server,
    work: WorkTree,
    repository: String,
    update: RunProposal,
    _installation: Installation,
}

const NODE: &str = "web-000";

fn fleet_in(region: &str) -> String {
    nodes("web", "web", 0..1).replace("eu-1", region)
}

impl Moved {
    fn new(options: &[&str]) -> Moved {
        let installation = Installation::new();
        let server = installation.serve(options);
        let work = repository_with(&fleet_in("eu-1"));
        let repository = register(&server.api, "fleet-config", &work).id;
        assert_eq!(server.api.apply_all(&repository).unwrap().status.slug(), "applied");
        work.commit("fleet.yaml", &fleet_in("eu-2"));
        let update = server.api.sync(&repository).unwrap().proposals.remove(0);
        assert_eq!((update.action.as_str(), update.name.as_str()), ("update_node", NODE));
        Moved { server, work, repository, update, _installation: installation }
    }

    fn api(&self) -> &Api {
        &self.server.api
    }

    fn halt(&self) {
        let body = json!({"reason": "an incident"});
        self.api().text(self.api().call(Operation::Halt, &[]).body(&body)).unwrap();
    }

    fn resume(&self) {
        self.api().text(self.api().call(Operation::Resume, &[])).unwrap();
    }

    fn region(&self) -> serde_json::Value {
        self.api().resource(Noun::Node, NODE).unwrap().spec["region"].clone()
    }
}

#[test]
fn when_git_moves_the_open_proposal_is_superseded_by_a_new_one() {
    let moved = Moved::new(&[]);
    moved.work.commit("fleet.yaml", &fleet_in("eu-3"));
    let run = moved.api().sync(&moved.repository).unwrap();
    let old = moved.api().proposal(&moved.update.id).unwrap();
    assert_eq!(old.status.slug(), "superseded");
    assert_eq!(run.proposals.len(), 1);
    assert_ne!(run.proposals[0].id, old.id);
    assert_eq!(refused(moved.api().approve(&old.id)).0, 409);
    moved.server.stop();
}

#[test]
fn the_kill_switch_holds_what_is_approved_until_someone_resumes() {
    let moved = Moved::new(&[]);
    moved.halt();
    moved.api().approve(&moved.update.id).unwrap();
    let held = moved.api().wait_for("the reason", |api| {
        api.proposal(&moved.update.id).ok().filter(|proposal| !proposal.blocked_by.is_empty())
    });
    assert_eq!(held.status.slug(), "approved");
    assert!(held.blocked_by[0].contains("an incident"), "{:?}", held.blocked_by);
    assert_eq!(moved.region(), "eu-1");
    moved.resume();
    moved.api().wait_for_status(&moved.update.id, "applied");
    assert_eq!(moved.region(), "eu-2");
    moved.server.stop();
}

#[test]
fn an_approved_change_that_someone_makes_by_hand_is_applied_manually() {
    let moved = Moved::new(&[]);
    moved.api().patch(Noun::Node, NODE, &json!({"region": "eu-2"})).unwrap();
    moved.api().approve(&moved.update.id).unwrap();
    moved.api().wait_for_status(&moved.update.id, "applied_manually");
    let opened_by = moved.api().proposal(&moved.update.id).unwrap().run_id;
    assert_eq!(moved.api().run(&opened_by).unwrap().status.slug(), "applied_manually");
    moved.server.stop();
}

#[test]
fn what_nobody_decides_expires_and_comes_again() {
    let installation = Installation::new();
    let server = installation.serve(&["--proposal-lifetime", "1s"]);
    let api = &server.api;
    let work = repository_with(&fleet_in("eu-1"));
    let repository = register(api, "fleet-config", &work).id;
    let first = api.sync(&repository).unwrap().proposals.remove(0);
    let expired = api.wait_for_status(&first.id, "expired");
    assert_eq!(expired.decided_by, None);
    assert_eq!(expired.reason.unwrap(), "nobody decided in time; the next sync proposes it again");
    let again = api.sync(&repository).unwrap().proposals.remove(0);
    assert_ne!(again.id, first.id);
    assert_eq!(again.name, first.name);
    server.stop();
}

#[test]
fn what_was_approved_and_could_not_be_applied_in_time_says_what_was_in_the_way() {
    let installation = Installation::new();
    let server = installation.serve(&["--proposal-lifetime", "3s"]);
    let api = &server.api;
    let work = repository_with(&fleet_in("eu-1"));
    let repository = register(api, "fleet-config", &work).id;
    let halt = json!({"reason": "a storm"});
    api.text(api.call(Operation::Halt, &[]).body(&halt)).unwrap();
    // On a slow machine it may expire before it is approved; then it is proposed again.
    let first = std::iter::repeat_with(|| api.sync(&repository).unwrap().proposals.remove(0))
        .find(|offered| api.approve(&offered.id).is_ok())
        .unwrap();
    let expired = api.wait_for_status(&first.id, "expired");
    let reason = expired.reason.unwrap();
    assert!(reason.starts_with("it was approved but could not be applied in time: "), "{reason}");
    assert!(reason.contains("a storm"), "{reason}");
    let events = api.events(0).unwrap();
    let told = events
        .iter()
        .find(|event| event.kind == "gitops.proposal_expired" && event.payload["proposal_id"] == first.id)
        .unwrap();
    assert!(told.message.ends_with(&reason), "{told:?}");
    server.stop();
}

#[test]
fn an_edit_is_what_is_approved_and_applied_and_git_does_not_take_it_back() {
    let moved = Moved::new(&[]);
    let api = moved.api();
    let before = api.proposal(&moved.update.id).unwrap();
    let mut payload = moved.update.payload.clone();
    payload["region"] = json!("eu-7");
    let body = json!({"payload": payload});
    let edited: ProposalEnvelope =
        api.send(api.call(Operation::ProposalEdit, &[&moved.update.id]).body(&body)).unwrap();
    assert_ne!(edited.proposal.digest, before.digest);
    let reviewed_before = json!({"digest": before.digest});
    let stale = api.call(Operation::ProposalApprove, &[&moved.update.id]).body(&reviewed_before);
    assert_eq!(refused(api.text(stale)).0, 409);
    api.approve(&moved.update.id).unwrap();
    api.wait_for_status(&moved.update.id, "applied");
    let node = api.resource(Noun::Node, NODE).unwrap();
    assert_eq!(node.spec["region"], "eu-7");
    assert!(node.differs_because.unwrap().contains("edited before approval"));
    let run = api.sync(&moved.repository).unwrap();
    assert_eq!((run.status.slug(), run.proposals.len()), ("success", 0), "{run:?}");
    assert!(!api.drift_report(&moved.repository).drift);
    moved.server.stop();
}

#[test]
fn a_run_with_rejected_changes_tells_of_them() {
    let moved = Moved::new(&[]);
    let run = moved.api().sync(&moved.repository).unwrap();
    let decided = moved.api().decide(&run, BatchDecision::Reject).unwrap();
    assert_eq!((decided.done, decided.refused), (1, 0));
    let run = moved.api().run(&run.id).unwrap();
    assert_eq!(run.skipped_actions.len(), 1, "{run:?}");
    assert!(!run.requires_approval);
    assert_eq!(moved.region(), "eu-1");
    moved.server.stop();
}
