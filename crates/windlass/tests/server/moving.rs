//! A repository moves to another account and back.

use windlass_api::endpoint::Operation;
use windlass_api::types::{
    BatchDecision, MoveBody, RepositoryEnvelope, RepositoryInfo, RepositoryList, SyncBody,
};
use windlass_testkit::servers::WorkTree;

use crate::api::{Api, Result, refused};
use crate::fleet::{nodes, register, repository_with};
use crate::installation::{ACCOUNT, Installation};

fn relocate(api: &Api, repository: &str, account: &str) -> Result<RepositoryInfo> {
    let body = MoveBody { account: account.to_owned() };
    let moved: RepositoryEnvelope =
        api.send(api.call(Operation::RepositoryMove, &[repository]).body(&body))?;
    Ok(moved.gitops_repository)
}

/// Sets the account in the fleet.
fn name_account(work: &WorkTree, fleet: &str, account: &str) {
    work.commit("fleet.yaml", &fleet.replace(&format!("account: {ACCOUNT}"), &format!("account: {account}")));
}

fn repositories(api: &Api) -> Vec<(String, String)> {
    let list: RepositoryList = api.send(api.call(Operation::RepositoryList, &[])).unwrap();
    list.gitops_repositories.into_iter().map(|repository| (repository.id, repository.name)).collect()
}

/// The id of the repository that the move left behind in an account.
fn left_behind(api: &Api, id: &str) -> String {
    let left = repositories(api).into_iter().find(|(other, name)| other != id && name.ends_with("-moved"));
    left.unwrap().0
}

fn owners(api: &Api) -> Vec<Option<String>> {
    let resources = api.resources().unwrap();
    resources.into_iter().map(|resource| resource.owner.map(|owner| owner.repository_id)).collect()
}

fn open_proposals(api: &Api) -> Vec<String> {
    let open = api.proposals().unwrap().into_iter().filter(|it| it.status.is_open());
    open.map(|proposal| proposal.action).collect()
}

#[test]
fn a_repository_moves_only_when_its_file_names_the_new_account_and_can_return() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let (acme, globex) = (&server.api, server.add_account("globex"));
    let fleet = nodes("web", "web", 0..2);
    let work = repository_with(&fleet);
    let id = register(acme, "fleet", &work).id;
    assert_eq!(acme.apply_all(&id).unwrap().status.slug(), "applied");

    // The file still names the old account: the move is refused.
    let (status, message) = refused(relocate(acme, &id, "globex"));
    assert_eq!(status, 409, "{message}");
    assert!(message.contains("fleet.yaml:2:") && message.contains("globex"), "{message}");
    assert_eq!(repositories(acme), [(id.clone(), "fleet".to_owned())]);
    assert_eq!(owners(acme), vec![Some(id.clone()); 3]);

    name_account(&work, &fleet, "globex");
    relocate(acme, &id, "globex").unwrap();
    let left = left_behind(acme, &id);
    assert_eq!(owners(acme), vec![Some(left); 3], "what it owned stays until someone approves");
    acme.wait_for("the destroys in the old account", |api| (open_proposals(api).len() == 3).then_some(()));
    assert!(open_proposals(acme).iter().all(|action| action.starts_with("destroy_")));
    let run = globex.sync(&id).unwrap();
    assert_eq!((run.status.slug(), run.proposals.len()), ("diff_ready", 3), "{:?}", run.error);
    globex.decide(&run, BatchDecision::Approve).unwrap();
    assert_eq!(globex.wait_until_applied(&run.id).unwrap().status.slug(), "applied");

    // Someone approves one destroy; then the move is undone.
    let destroys = acme.proposals().unwrap();
    let node = destroys
        .iter()
        .find(|it| it.action == "destroy_node" && it.status.slug() == "pending_approval")
        .unwrap();
    acme.approve(&node.id).unwrap();
    acme.wait_for_status(&node.id, "applied");
    let (status, message) = refused(relocate(&globex, &id, ACCOUNT));
    assert_eq!(status, 409, "{message}");
    name_account(&work, &fleet, ACCOUNT);
    relocate(&globex, &id, ACCOUNT).unwrap();
    assert_eq!(repositories(acme), [(id.clone(), "fleet".to_owned())], "what was left behind is taken back");
    assert_eq!(open_proposals(acme), [""; 0], "the destroys are withdrawn");
    assert_eq!(owners(acme), vec![Some(id.clone()); 2]);
    let again = acme.sync(&id).unwrap();
    let actions: Vec<&str> = again.proposals.iter().map(|proposal| proposal.action.as_str()).collect();
    assert_eq!(actions, ["create_node"], "only what was destroyed meanwhile is proposed again");
    globex
        .wait_for("the destroys in the other account", |api| (open_proposals(api).len() == 3).then_some(()));

    // Both accounts have it in the audit log.
    for api in [acme, &globex] {
        let moves = api.audit().unwrap().into_iter().filter(|entry| entry.action == "repository.move");
        assert_eq!(moves.filter(|entry| entry.outcome == "done").count(), 2);
    }
    server.stop();
}

#[test]
fn a_move_does_not_avoid_the_mass_destroy_guard() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let (acme, globex) = (&server.api, server.add_account("globex"));
    let fleet = nodes("web", "web", 0..12);
    let work = repository_with(&fleet);
    let id = register(acme, "fleet", &work).id;
    assert_eq!(acme.apply_all(&id).unwrap().status.slug(), "applied");
    name_account(&work, &fleet, "globex");
    relocate(acme, &id, "globex").unwrap();
    let left = left_behind(acme, &id);
    let stopped = acme.wait_for("the stopped run", |api| {
        api.repository(&left).ok().filter(|repository| repository.last_status.slug() == "failed")
    });
    assert!(stopped.last_error.unwrap().contains("13 of the 13"));
    assert_eq!(open_proposals(acme), [""; 0]);
    assert_eq!(acme.resources().unwrap().len(), 13);

    // It is never fetched: after confirmation it proposes the destroys, and nothing else.
    let run = acme.sync_with(&left, &SyncBody { confirm_mass_destroy: true, ..SyncBody::default() }).unwrap();
    assert_eq!((run.status.slug(), run.proposals.len()), ("diff_ready", 13), "{:?}", run.error);
    assert!(run.proposals.iter().all(|proposal| proposal.status.slug() == "pending_approval"));
    let (status, _) = refused(relocate(acme, &left, "globex"));
    assert_eq!(status, 409, "what was left behind does not move");
    assert_eq!(repositories(&globex), [(id, "fleet".to_owned())]);
    server.stop();
}
