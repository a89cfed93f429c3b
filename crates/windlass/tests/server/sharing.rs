//! Several repositories in one account, and repositories that become empty.

use windlass_api::endpoint::Operation;
use windlass_api::types::{BatchDecision, SyncBody};

use crate::api::Api;
use crate::fleet::{fleet, nodes, register, repository_with, template};
use crate::installation::Installation;

/// The accepted state: name and owner, by kind and name.
fn owners(api: &Api) -> Vec<(String, Option<String>)> {
    let owner = |resource: windlass_api::types::ResourceInfo| {
        (resource.name, resource.owner.map(|owner| owner.repository_name))
    };
    api.resources().unwrap().into_iter().map(owner).collect()
}

fn owned(name: &str, owner: &str) -> (String, Option<String>) {
    (name.to_owned(), Some(owner.to_owned()))
}

#[test]
fn two_repositories_share_an_account() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let (edge, core) =
        (repository_with(&nodes("edge", "edge", 0..1)), repository_with(&nodes("core", "core", 0..1)));
    let edge_id = register(api, "fleet-edge", &edge).id;
    let core_id = register(api, "fleet-core", &core).id;
    assert_eq!(api.apply_all(&edge_id).unwrap().status.slug(), "applied");
    assert_eq!(api.apply_all(&core_id).unwrap().status.slug(), "applied");
    for repository in [&edge_id, &core_id] {
        let run = api.sync(repository).unwrap();
        assert_eq!((run.status.slug(), run.diff_count), ("success", 0), "{run:?}");
    }
    let all = [
        owned("core-000", "fleet-core"),
        owned("edge-000", "fleet-edge"),
        owned("core", "fleet-core"),
        owned("edge", "fleet-edge"),
    ];
    assert_eq!(owners(api), all);

    core.commit("fleet.yaml", &nodes("edge", "core", 0..1));
    let run = api.sync(&core_id).unwrap();
    assert_eq!(run.status.slug(), "diff_ready", "{:?}", run.error);
    let contested = run.proposals.iter().find(|proposal| proposal.name == "edge").unwrap();
    assert_eq!(contested.blocked_by, ["template edge is owned by the repository `fleet-edge`"]);
    assert_eq!(owners(api), all);

    api.text(api.call(Operation::RepositoryRemove, &[&edge_id])).unwrap();
    let left: Vec<String> =
        owners(api).into_iter().filter(|(_, owner)| owner.is_none()).map(|(name, _)| name).collect();
    assert_eq!(left, ["edge-000", "edge"]);
    core.commit("fleet.yaml", &nodes("core", "core", 0..1));
    assert_eq!(api.sync(&core_id).unwrap().status.slug(), "success");
    server.stop();
}

#[test]
fn what_is_removed_from_git_is_destroyed_in_order_and_only_after_approval() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..2));
    let id = register(api, "fleet-config", &work).id;
    api.apply_all(&id).unwrap();
    work.commit("fleet.yaml", &fleet(""));
    let run = api.sync(&id).unwrap();
    let actions: Vec<&str> = run.proposals.iter().map(|proposal| proposal.action.as_str()).collect();
    assert_eq!(actions, ["destroy_node", "destroy_node", "destroy_template"]);
    assert_eq!(api.resources().unwrap().len(), 3);
    api.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!(api.wait_until_applied(&run.id).unwrap().status.slug(), "applied");
    assert!(api.resources().unwrap().is_empty());
    server.stop();
}

#[test]
fn an_emptied_fleet_is_stopped() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..12));
    let id = register(api, "fleet-config", &work).id;
    api.apply_all(&id).unwrap();
    let good = api.repository(&id).unwrap().last_synced_revision;
    work.commit("fleet.yaml", &fleet(""));
    let run = api.sync(&id).unwrap();
    let error = run.error.clone().unwrap();
    assert_eq!((run.status.slug(), error.code.as_str()), ("failed", "mass-destroy"));
    assert!(error.message.contains("13 of the 13"), "{error:?}");
    assert!(error.help.contains("confirm_mass_destroy"), "{error:?}");
    assert!(run.proposals.is_empty());
    assert_eq!(api.resources().unwrap().len(), 13);
    assert_eq!(api.repository(&id).unwrap().last_synced_revision, good);
    assert!(!api.drift_report(&id).drift);

    let run = api.sync_with(&id, &SyncBody { confirm_mass_destroy: true, ..SyncBody::default() }).unwrap();
    assert_eq!((run.status.slug(), run.proposals.len()), ("diff_ready", 13), "{:?}", run.error);
    assert!(run.proposals.iter().all(|proposal| proposal.status.slug() == "pending_approval"));
    assert_eq!(api.resources().unwrap().len(), 13, "nothing is destroyed without approval");
    api.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!(api.wait_until_applied(&run.id).unwrap().status.slug(), "applied");
    assert!(api.resources().unwrap().is_empty());
    server.stop();
}

#[test]
fn a_reference_across_repositories_waits_until_its_end_appears() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let work = repository_with(&fleet("nodes:\n  - {hostname: web-01, template: shared}\n"));
    let users = register(api, "fleet-users", &work).id;
    let run = api.sync(&users).unwrap();
    assert_eq!(run.status.slug(), "diff_ready", "{:?}", run.error);
    let blocked = &run.proposals[0];
    assert_eq!(blocked.blocked_by, ["template shared does not exist yet"]);
    assert_eq!(blocked.blocked_by_kinds, [windlass_core::blocked_by::BlockedByKind::MissingResource]);
    api.approve(&blocked.id).unwrap();
    assert_eq!(api.proposal(&blocked.id).unwrap().status.slug(), "approved");

    let shared = repository_with(&fleet(&template("shared")));
    let owners = register(api, "fleet-owners", &shared).id;
    assert_eq!(api.apply_all(&owners).unwrap().status.slug(), "applied");
    let unblocked = api.wait_for_status(&blocked.id, "applied");
    assert!(unblocked.blocked_by.is_empty());
    assert_eq!(api.run(&run.id).unwrap().status.slug(), "applied");
    server.stop();
}

#[test]
fn a_pending_change_stops_being_blocked_when_someone_makes_what_it_needs() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let work = repository_with(&fleet("nodes:\n  - {hostname: web-01, template: shared}\n"));
    let id = register(api, "fleet-users", &work).id;
    let blocked = api.sync(&id).unwrap().proposals.remove(0);
    assert!(!blocked.blocked_by.is_empty());
    let template = serde_json::json!({"name": "shared", "node_platform": "ubuntu-24.04-amd64"});
    api.create(windlass_api::noun::Noun::NodeTemplate, &template).unwrap();
    api.wait_for("the end of the block", |api| {
        api.proposal(&blocked.id).unwrap().blocked_by.is_empty().then_some(())
    });
    assert_eq!(api.proposal(&blocked.id).unwrap().status.slug(), "pending_approval");
    server.stop();
}
