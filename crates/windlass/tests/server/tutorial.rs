//! The tutorial, from an empty directory to a fleet without drift, as printed.

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{BatchDecision, EventInfo, RepositoryFields, RepositoryInfo, Reverted, RunInfo};
use windlass_testkit::servers::WorkTree;

use crate::api::{Api, refused};
use crate::fleet::{TUTORIAL, fields, register, repository_with};
use crate::installation::{ACCOUNT, Installation, sign_in};

const NODE: &str = "edge-tokyo-01";

#[test]
fn the_first_start_prints_a_login_that_works_until_a_password_is_chosen() {
    let installation = Installation::new();
    let server = installation.launch(None, &["--first-admin", "ada@acme.test"]);
    let login = server.first_login.clone().unwrap();
    assert_eq!((login.account.as_str(), login.email.as_str()), (ACCOUNT, "ada@acme.test"));
    let session = sign_in(&server.api, &login.email, &login.password);
    assert!(session.me.must_change_password);
    let once = Api::new(&server.address, Some(&session.token));
    let (status, message) = refused(once.resources());
    assert_eq!(status, 403, "{message}");
    let body = json!({"current_password": login.password, "new_password": "correct horse battery"});
    once.text(once.call(Operation::Password, &[]).body(&body)).unwrap();
    assert_eq!(refused(once.resources()).0, 401, "changing the password ends the session");
    let again = json!({"email": login.email, "password": login.password});
    assert_eq!(refused(server.api.text(server.api.call(Operation::Login, &[]).body(&again))).0, 401);
    let session = sign_in(&server.api, &login.email, "correct horse battery");
    assert!(!session.me.must_change_password);
    assert!(Api::new(&server.address, Some(&session.token)).resources().unwrap().is_empty());
    server.stop();
}

#[test]
fn the_tutorial_from_an_empty_directory_to_a_drift_free_fleet() {
    let installation = Installation::new();
    let server = installation.serve(&["--drift-interval", "1s"]);
    let api = &server.api;
    let work = repository_with(TUTORIAL);
    let enabled = RepositoryFields { enabled: None, ..fields("fleet-config", &work) };
    let repository = api.register(enabled).unwrap();
    assert_eq!(repository.status.slug(), "syncing");
    let run = api.sync(&repository.id).unwrap();
    the_run_reads_as_the_tutorial_prints_it(&run, &work);
    let decided = api.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!((decided.done, decided.refused), (10, 0));
    let run = api.wait_until_applied(&run.id).unwrap();
    everything_was_applied(api, &run, &repository);
    a_change_by_hand_is_reverted(api, &repository);
    a_change_by_hand_is_adopted_as_a_patch(api, &repository, &work);
    a_change_by_hand_is_adopted_on_a_branch(api, &repository, &work);
    a_change_by_hand_is_accepted(api, &repository);
    an_export_is_the_accepted_state(api, &repository, &work);
    server.stop();
}

fn the_run_reads_as_the_tutorial_prints_it(run: &RunInfo, work: &WorkTree) {
    assert_eq!(run.status.slug(), "diff_ready", "{:?}", run.error);
    assert_eq!(run.commit_sha.as_deref(), Some(work.head().as_str()));
    assert_eq!(run.diff["templates"], json!({"add": ["edge-base", "edge-cdn"], "update": [], "delete": []}));
    let nodes = json!(["edge-london-01", "edge-tokyo-01", "edge-tokyo-02"]);
    assert_eq!(run.diff["nodes"], json!({"add": nodes, "update": [], "delete": []}));
    assert_eq!(run.diff["sdwan"]["networks"]["add"], json!(["edge-fabric"]));
    assert_eq!(run.diff["sdwan"]["peers"]["add"].as_array().unwrap().len(), 3);
    assert_eq!(run.diff["sdwan"]["virtual_ips"]["add"], json!(["edge-fabric/cdn-frontend"]));
    assert_eq!((run.diff_count, run.remaining, run.proposals.len()), (10, 0, 10));
    assert!(run.requires_approval);
    assert_eq!(run.drift_after_apply, None);
    let first = &run.proposals[0];
    assert_eq!(first.action, "create_template");
    assert_eq!((first.kind.as_str(), first.change.word()), ("template", "create"));
    assert_eq!(first.payload["name"], "edge-base");
    assert!(run.proposals.iter().all(|proposal| proposal.status.slug() == "pending_approval"));
}

fn everything_was_applied(api: &Api, run: &RunInfo, repository: &RepositoryInfo) {
    assert_eq!(run.status.slug(), "applied");
    assert_eq!(run.applied_actions.len(), 10);
    assert!(run.failed_actions.is_empty() && run.skipped_actions.is_empty());
    assert_eq!(run.drift_after_apply, Some(json!({})));
    assert!(!run.requires_approval);
    let changed: Vec<String> = api
        .events(0)
        .unwrap()
        .into_iter()
        .filter(|event| event.kind == "resource.changed")
        .filter_map(|event| event.resource_kind)
        .collect();
    let order = ["template", "node", "network", "peer", "virtual_ip"];
    let places: Vec<usize> =
        changed.iter().map(|kind| order.iter().position(|known| known == kind).unwrap()).collect();
    assert!(places.is_sorted() && places.len() == 10, "{changed:?}");
    let report = api.drift_report(&repository.id);
    assert!(!report.drift && report.pending.is_empty(), "{report:?}");
    assert_eq!(api.sync(&repository.id).unwrap().status.slug(), "success");
}

/// Changes a node's region manually, and waits until the drift loop reports it.
fn make_manual_change(api: &Api, region: &str) -> EventInfo {
    let before = api.last_event();
    api.patch(Noun::Node, NODE, &json!({"region": region})).unwrap();
    wait_for_event(api, before, "gitops.drift_detected")
}

fn wait_for_event(api: &Api, after: i64, kind: &str) -> EventInfo {
    api.wait_for(kind, |api| api.events(after).unwrap().into_iter().find(|event| event.kind == kind))
}

fn a_change_by_hand_is_reverted(api: &Api, repository: &RepositoryInfo) {
    let told = make_manual_change(api, "ap-osaka-1");
    assert_eq!(told.resource_name.as_deref(), Some(NODE));
    assert_eq!(told.payload["changed_by"], "admin@localhost");
    assert_eq!(told.payload["fields"][0]["path"], "region");
    assert_eq!(told.payload["fields"][0]["before"], "ap-tokyo-1");
    assert_eq!(told.payload["fields"][0]["after"], "ap-osaka-1");
    let report = api.drift_report(&repository.id);
    assert!(report.drift);
    assert_eq!(report.drifted[0].changed_by.as_deref(), Some("admin@localhost"));
    let body = json!({"kind": "node", "name": NODE});
    let reverted: Reverted =
        api.send(api.call(Operation::DriftRevert, &[&repository.id]).body(&body)).unwrap();
    let run = api.run(&reverted.sync_run_id).unwrap();
    assert_eq!(run.proposals.len(), 1, "{run:?}");
    assert_eq!(run.proposals[0].action, "update_node");
    let before = api.last_event();
    api.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!(api.wait_until_applied(&run.id).unwrap().status.slug(), "applied");
    let resolved = wait_for_event(api, before, "gitops.drift_resolved");
    assert_eq!(resolved.resource_name.as_deref(), Some(NODE));
    assert_eq!(api.resource(Noun::Node, NODE).unwrap().spec["region"], "ap-tokyo-1");
    assert!(!api.drift_report(&repository.id).drift);
}

fn a_change_by_hand_is_adopted_as_a_patch(api: &Api, repository: &RepositoryInfo, work: &WorkTree) {
    let told = make_manual_change(api, "ap-osaka-2");
    let adopted: windlass_api::types::Adopted =
        api.send(api.call(Operation::DriftAdopt, &[&repository.id]).body(&json!({}))).unwrap();
    assert_eq!(adopted.branch, None);
    let patch = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(patch.path(), &adopted.patch).unwrap();
    work.git(&["apply", patch.path().to_str().unwrap()]);
    let fleet = std::fs::read_to_string(work.path().join("fleet.yaml")).unwrap();
    assert_eq!(fleet, TUTORIAL.replacen("region: ap-tokyo-1", "region: ap-osaka-2", 1));
    work.commit("fleet.yaml", &fleet);
    let run = api.sync(&repository.id).unwrap();
    assert_eq!((run.status.slug(), run.diff_count), ("success", 0));
    wait_for_event(api, told.seq, "gitops.drift_resolved");
}

fn a_change_by_hand_is_adopted_on_a_branch(api: &Api, repository: &RepositoryInfo, work: &WorkTree) {
    make_manual_change(api, "ap-osaka-3");
    let body = json!({"branch": "adopt/osaka", "resources": [{"kind": "node", "name": NODE}]});
    let adopted: windlass_api::types::Adopted =
        api.send(api.call(Operation::DriftAdopt, &[&repository.id]).body(&body)).unwrap();
    assert_eq!(adopted.branch.as_deref(), Some("adopt/osaka"));
    assert_eq!(adopted.commit_sha.unwrap(), work.git(&["rev-parse", "adopt/osaka"]));
    work.git(&["merge", "--quiet", "--ff-only", "adopt/osaka"]);
    let run = api.sync(&repository.id).unwrap();
    assert_eq!((run.status.slug(), run.diff_count), ("success", 0));
    assert!(!api.drift_report(&repository.id).drift);
}

fn a_change_by_hand_is_accepted(api: &Api, repository: &RepositoryInfo) {
    let told = make_manual_change(api, "ap-osaka-4");
    let body = json!({"kind": "node", "name": NODE, "until": "2199-01-01T00:00:00Z", "reason": "a trial"});
    api.text(api.call(Operation::DriftAccept, &[&repository.id]).body(&body)).unwrap();
    wait_for_event(api, told.seq, "gitops.drift_resolved");
    let report = api.drift_report(&repository.id);
    assert!(!report.drift);
    assert_eq!(report.accepted[0].acceptance.as_ref().unwrap().reason, "a trial");
    let run = api.sync(&repository.id).unwrap();
    assert_eq!((run.status.slug(), run.proposals.len()), ("success", 0), "{run:?}");
    assert!(api.resource(Noun::Node, NODE).unwrap().differs_because.unwrap().contains("a trial"));
}

/// The fleet is exported, its repository removed and another created from the export: only its owner changes.
fn an_export_is_the_accepted_state(api: &Api, repository: &RepositoryInfo, work: &WorkTree) {
    let export = |form| api.text(api.call(Operation::Export, &[]).query("form", form)).unwrap();
    let (list, map) = (repository_with(&export("list")), repository_with(&export("map")));
    assert_eq!(changes_between(&list, &map), 0);
    assert_eq!(changes_between(work, &list), 1, "the accepted region, and nothing else");
    let before = api.resources().unwrap();
    api.text(api.call(Operation::RepositoryRemove, &[&repository.id])).unwrap();
    let after = api.resources().unwrap();
    assert_eq!(after.len(), 10);
    assert!(after.iter().all(|resource| resource.owner.is_none()));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((&before.name, &before.digest), (&after.name, &after.digest));
    }
    let restored = register(api, "fleet-restored", &map);
    let run = api.sync(&restored.id).unwrap();
    assert_eq!(run.proposals.len(), 10, "{run:?}");
    assert!(run.proposals.iter().all(|proposal| proposal.change.word() == "update"), "{run:?}");
    api.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!(api.wait_until_applied(&run.id).unwrap().status.slug(), "applied");
    let run = api.sync(&restored.id).unwrap();
    assert_eq!((run.status.slug(), run.diff_count), ("success", 0));
    let owned = api.resources().unwrap();
    assert!(owned.iter().all(|resource| resource.owner.as_ref().unwrap().repository_id == restored.id));
}

/// The number of changes that `windlass plan` finds between two fleets.
fn changes_between(from: &WorkTree, to: &WorkTree) -> usize {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["plan", "--format=json", "--from"])
        .args([from.path(), to.path()])
        .output()
        .unwrap();
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    plan["steps"].as_array().unwrap().len()
}
