//! Who or what can approve a change.

use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::UserCreated;

use crate::api::{Api, refused};
use crate::fleet::{fleet, nodes, register, repository_with};
use crate::installation::{Installation, Server, sign_in};

fn set_policy(api: &Api, rules: &Value) {
    let body = json!({"policy": {"rules": rules}});
    api.text(api.call(Operation::PolicyReplace, &[]).body(&body)).unwrap();
}

/// A new approver of the account, signed in.
fn approver(server: &Server, email: &str) -> Api {
    let body = json!({"email": email, "role": "approver"});
    let added: UserCreated =
        server.api.send(server.api.call(Operation::UserCreate, &[]).body(&body)).unwrap();
    let once = added.one_time_password.unwrap();
    let session = sign_in(&server.api, email, &once);
    let api = Api::new(&server.address, Some(&session.token));
    let chosen = "another password for tests";
    let body = json!({"current_password": once, "new_password": chosen});
    api.text(api.call(Operation::Password, &[]).body(&body)).unwrap();
    Api::new(&server.address, Some(&sign_in(&server.api, email, chosen).token))
}

#[test]
fn two_approvals_are_needed_and_none_of_them_from_the_author() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    set_policy(
        api,
        &json!([{"name": "twice", "action": "require_approval", "approvals": 2, "not_author": true}]),
    );
    // The commits of the tests' repositories are hers.
    let author = approver(&server, "ana@example.com");
    let other = approver(&server, "ben@example.com");
    let work = repository_with(&fleet("templates:\n  web: {node_platform: ubuntu-24.04-amd64}\n"));
    let id = register(api, "fleet-config", &work).id;
    let proposal = api.sync(&id).unwrap().proposals.remove(0);
    let (status, message) = refused(author.approve(&proposal.id));
    assert!(status == 403 || status == 409, "{status} {message}");
    assert!(message.contains("author") || message.contains("wrote"), "{message}");
    api.approve(&proposal.id).unwrap();
    assert!([403, 409].contains(&refused(api.approve(&proposal.id)).0), "one person counts once");
    let half = api.proposal(&proposal.id).unwrap();
    let gate = half.gate.unwrap();
    assert_eq!((half.status.slug(), gate.have, gate.need), ("pending_approval", 1, 2));
    other.approve(&proposal.id).unwrap();
    api.wait_for_status(&proposal.id, "applied");
    server.stop();
}

#[test]
fn an_approval_given_before_an_edit_stops_counting() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    set_policy(api, &json!([{"name": "twice", "action": "require_approval", "approvals": 2}]));
    let (ben, cyd) = (approver(&server, "ben@example.com"), approver(&server, "cyd@example.com"));
    let work = repository_with(&fleet("templates:\n  web: {node_platform: ubuntu-24.04-amd64}\n"));
    let id = register(api, "fleet-config", &work).id;
    let proposal = api.sync(&id).unwrap().proposals.remove(0);
    ben.approve(&proposal.id).unwrap();
    let mut payload = proposal.payload.clone();
    payload["description"] = json!("edited");
    let edit = json!({"payload": payload});
    api.text(api.call(Operation::ProposalEdit, &[&proposal.id]).body(&edit)).unwrap();

    let edited = api.proposal(&proposal.id).unwrap();
    let gate = edited.gate.unwrap();
    assert_eq!((gate.have, gate.need), (0, 2));
    assert_eq!(edited.approvals.iter().filter(|approval| approval.counts).count(), 0);
    cyd.approve(&proposal.id).unwrap();
    let half = api.proposal(&proposal.id).unwrap();
    assert_eq!((half.status.slug(), half.gate.unwrap().have), ("pending_approval", 1));
    assert_eq!(api.resources().unwrap().len(), 0);
    // A person who approved the other content may approve this one.
    ben.approve(&proposal.id).unwrap();
    api.wait_for_status(&proposal.id, "applied");
    assert_eq!(api.resources().unwrap()[0].spec["description"], "edited");
    server.stop();
}

#[test]
fn what_a_policy_lets_through_is_applied_by_itself() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    set_policy(api, &json!([{"name": "free", "action": "auto_approve"}]));
    let work = repository_with(&nodes("web", "web", 0..2));
    let id = register(api, "fleet-config", &work).id;
    let run = api.sync(&id).unwrap();
    assert_eq!(api.wait_until_applied(&run.id).unwrap().status.slug(), "applied");
    assert_eq!(api.resources().unwrap().len(), 3);
    assert_eq!(api.proposal(&run.proposals[0].id).unwrap().decided_by.as_deref(), Some("policy free"));
    server.stop();
}
