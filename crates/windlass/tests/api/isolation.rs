//! Two accounts of one installation never learn anything about each other.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windlass_api::endpoint::{Endpoint, Method, Operation, endpoints};
use windlass_api::noun::Noun;
use windlass_api::permission::Role;
use windlass_core::id::AccountId;
use windlass_core::rollout::RolloutNodeState;
use windlass_store::unique_text;
use windlass_testkit::servers::WorkTree;

use crate::harness::{ALL, FLEET, Installation, Life, Person, fleet, texts};

/// An account with objects of every kind.
struct Tenant {
    admin: Person,
    repository: String,
    repository_name: String,
    run: String,
    proposal: String,
    token: String,
    _work: WorkTree,
}

/// Both accounts: `acme`, whose fleet is half applied, and `bravo` with a fleet of other names.
async fn two_tenants(installation: &Installation) -> (Tenant, Tenant) {
    let acme = installation.account.clone();
    let bravo = installation.new_account("bravo").await;
    let other = FLEET
        .replace("acme", "bravo")
        .replace("edge-", "core-")
        .replace("fabric", "mesh")
        .replace("front", "door")
        .replace("prod", "lab")
        .replace("name: group", "name: gang")
        .replace("web:", "api:")
        .replace(":web", ":api");
    let first = tenant(installation, &acme, "fleet-of-acme", FLEET).await;
    let second = tenant(installation, &bravo, "fleet-of-bravo", &other).await;
    (first, second)
}

async fn tenant(installation: &Installation, account: &AccountId, name: &str, text: &str) -> Tenant {
    let admin = installation.person(account, Role::Admin).await;
    let work = fleet(text);
    let repository = installation.register(&admin, name, &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let more = text.replace("region: eu", "region: us");
    work.commit("fleet.yaml", &more);
    let run = installation.sync(&admin, &repository).await;
    let token = installation.api_token(&admin, &ALL, Life::Good).await;
    installation.store_rollout(account, &[("edge-01", RolloutNodeState::Applying)]).await;
    Tenant {
        proposal: run["proposals"][0]["id"].as_str().unwrap().to_owned(),
        run: run["id"].as_str().unwrap().to_owned(),
        token: token.id.to_string(),
        repository_name: name.to_owned(),
        admin,
        repository,
        _work: work,
    }
}

/// Every list, as an account sees it.
async fn everything(installation: &Installation, person: &Person) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    for endpoint in endpoints() {
        let is_list = endpoint.method == Method::Get && !endpoint.path.contains('{');
        let is_everyones = !endpoint.path.starts_with("/api/v1/")
            || matches!(endpoint.operation, Operation::AccountList | Operation::EventStream);
        // Without a Vault there is no list.
        let is_everyones = is_everyones || endpoint.operation == Operation::CredentialList;
        if is_list && !is_everyones {
            let limit =
                if endpoint.query.iter().any(|(name, _)| *name == "limit") { "?limit=500" } else { "" };
            let reply = installation.ask(&person.token, "GET", &format!("{}{limit}", endpoint.path)).await;
            assert_eq!(reply.status, 200, "{}: {reply:?}", endpoint.path);
            seen.push((endpoint.path, reply.text));
        }
    }
    seen
}

/// Every id in a text.
fn ids_in(text: &str) -> BTreeSet<String> {
    let is_id = |word: &&str| word.len() == 36 && word.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').filter(is_id).map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_exports_and_searches_never_cross() {
    let installation = Installation::start().await;
    let (acme, bravo) = two_tenants(&installation).await;
    let seen = everything(&installation, &acme.admin).await;
    let ids: BTreeSet<String> = seen.iter().flat_map(|(_, text)| ids_in(text)).collect();
    assert!(ids.len() > 30, "{}", ids.len());
    let words = ["acme", "edge-0", "fabric", &acme.admin.email];
    for (path, text) in everything(&installation, &bravo.admin).await {
        assert!(ids_in(&text).is_disjoint(&ids), "{path}");
        for word in words {
            assert!(!text.contains(word), "{path} tells bravo of {word}");
        }
    }
    for path in [
        "/api/v1/system/resources?q=edge",
        "/api/v1/system/nodes?q=edge",
        "/api/v1/system/proposals?q=edge",
        "/api/v1/system/proposals?name=edge-01",
        "/api/v1/system/fleet_events?q=edge",
        "/api/v1/system/fleet_events?resource=node/edge-01",
        "/api/v1/system/audit?target=node/edge-01",
        &format!("/api/v1/system/proposals?run={}", acme.run),
        &format!("/api/v1/system/fleet_events?run={}", acme.run),
    ] {
        let found = installation.get(&bravo.admin, path).await;
        let lists: Vec<&Value> =
            found.as_object().unwrap().values().filter(|value| value.is_array()).collect();
        assert_eq!(lists, [&json!([])], "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_another_account_leads_only_to_ones_own() {
    let installation = Installation::start().await;
    let (acme, bravo) = two_tenants(&installation).await;
    for list in ["proposals", "resources", "nodes", "fleet_events", "audit", "gitops_sync_runs"] {
        let page = installation.get(&acme.admin, &format!("/api/v1/system/{list}?limit=1")).await;
        let cursor = page["meta"]["next_cursor"].as_str().unwrap();
        let path = format!("/api/v1/system/{list}?limit=500&cursor={cursor}");
        let reply = installation.ask(&bravo.admin.token, "GET", &path).await;
        assert_eq!(reply.status, 200, "{reply:?}");
        assert!(
            !reply.text.contains("edge-0") && !reply.text.contains(&acme.repository),
            "{list}: {reply:?}"
        );
    }
}

/// A valid body for an operation, so that only the id can be wrong.
fn sound_body(operation: Operation) -> Value {
    match operation {
        Operation::RepositoryPatch => json!({"gitops_repository": {"enabled": false}}),
        Operation::RepositoryMove => json!({"account": "bravo"}),
        Operation::DriftRevert | Operation::DriftUnaccept => json!({"kind": "node", "name": "edge-01"}),
        Operation::DriftAdopt => json!({"resources": [{"kind": "node", "name": "edge-01"}]}),
        Operation::DriftAccept => json!({"kind": "node", "name": "edge-01", "reason": "meant"}),
        Operation::NodeDriftAdopt | Operation::NodeDriftUnaccept => {
            json!({"kind": "path", "name": "/etc/motd"})
        }
        Operation::NodeDriftAccept => json!({"kind": "path", "name": "/etc/motd", "reason": "meant"}),
        Operation::PreviewCreate => json!({"ref": "main"}),
        Operation::RunApprove => json!({"digest": "sha256:00"}),
        Operation::ProposalEdit => json!({"payload": {"region": "us"}}),
        Operation::UserPatch => json!({"role": "viewer"}),
        Operation::ModuleVersionPatch => json!({"state": "live"}),
        other if format!("{other:?}").starts_with("Rollout") => json!({"reason": "because"}),
        _ => json!({}),
    }
}

/// Ids and names for a route's `{id}`.
async fn subjects(installation: &Installation, of: &Tenant, endpoint: &Endpoint) -> Vec<String> {
    match endpoint.operation {
        Operation::TokenRevoke => vec![of.token.clone()],
        Operation::UserPatch | Operation::UserRemove => vec![of.admin.id.to_string(), of.admin.email.clone()],
        Operation::RunShow | Operation::RunApprove | Operation::RunConfirmFailure => vec![of.run.clone()],
        Operation::ModuleVersionList | Operation::ModuleVersionPatch => {
            let page = installation.get(&of.admin, "/api/v1/system/node_modules").await;
            let list = &page["node_modules"];
            texts(list, "id").into_iter().chain(texts(list, "name")).collect()
        }
        Operation::Resource(noun, _) => {
            let page = installation.get(&of.admin, &format!("/api/v1/system/{}", noun.path())).await;
            let list = &page[noun.plural()];
            texts(list, "id").into_iter().chain(texts(list, "name")).collect()
        }
        Operation::NodeRender => {
            let page = installation.get(&of.admin, "/api/v1/system/nodes").await;
            texts(&page["nodes"], "id").into_iter().chain(texts(&page["nodes"], "name")).collect()
        }
        Operation::InvitationRevoke | Operation::InvitationAccept | Operation::InvitationDecline => {
            texts(&installation.get(&of.admin, "/api/v1/auth/invitations").await["invitations"], "id")
        }
        _ if endpoint.path.starts_with("/api/v1/system/nodes/{id}/") => {
            let list = &installation.get(&of.admin, "/api/v1/system/nodes").await["nodes"];
            texts(list, "id").into_iter().chain(texts(list, "name")).collect()
        }
        _ if endpoint.path.starts_with("/api/v1/system/clusters/{id}/") => {
            let list = &installation.get(&of.admin, "/api/v1/system/clusters").await["clusters"];
            texts(list, "id").into_iter().chain(texts(list, "name")).collect()
        }
        Operation::EnrollmentTokenRevoke => {
            let list = installation.get(&of.admin, "/api/v1/system/enrollment_tokens").await;
            texts(&list["enrollment_tokens"], "id")
        }
        Operation::NodeJoinApprove | Operation::NodeJoinReject => {
            texts(&installation.get(&of.admin, "/api/v1/system/node_joins").await["node_joins"], "id")
        }
        // Nothing is notified here: the store's contract keeps providers and deliveries of accounts apart.
        Operation::ProviderTest | Operation::DeliveryRetry => Vec::new(),
        other if format!("{other:?}").starts_with("Rollout") => {
            texts(&installation.get(&of.admin, "/api/v1/system/rollouts").await["rollouts"], "id")
        }
        other if format!("{other:?}").starts_with("Proposal") => vec![of.proposal.clone()],
        _ if endpoint.path.contains("/gitops_repositories/{id}") => {
            vec![of.repository.clone(), of.repository_name.clone()]
        }
        other => panic!(
            "which ids stand in {}? Add {other:?} to `subjects`, so that nobody can use those of another account \
             (ARCHITECTURE.md, How to add an endpoint)",
            endpoint.path
        ),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_of_another_account_is_answered_exactly_as_one_that_does_not_exist() {
    let installation = Installation::start().await;
    let (acme, bravo) = two_tenants(&installation).await;
    let root = installation.root().await;
    let stranger = installation.add_to_account(&root, &bravo.admin.account, Role::Admin).await;
    let invitation = json!({"email": bravo.admin.email, "role": "viewer"});
    installation.tell(&acme.admin.token, "POST", "/api/v1/auth/users", &invitation).await.expect(201);
    let enroll = "/api/v1/system/nodes/edge-01/enrollment";
    installation.ask(&acme.admin.token, "POST", enroll).await.expect(201);
    installation.store_join("edge-02").await;
    let before = everything(&installation, &acme.admin).await;
    for endpoint in endpoints().into_iter().filter(|endpoint| endpoint.path.contains("{id}")) {
        let body = sound_body(endpoint.operation);
        for subject in subjects(&installation, &acme, &endpoint).await {
            let missing = if subject.len() == 36 { unique_text() } else { "absent".to_owned() };
            let mut answers = Vec::new();
            for id in [&subject, &missing] {
                let id = id.replace('/', "%2F").replace('@', "%40");
                let path = endpoint.path.replace("{id}", &id);
                let reply = installation.tell(&stranger.token, endpoint.method.as_str(), &path, &body).await;
                answers.push(reply.without_request());
            }
            let at = format!("{} {} with {subject}", endpoint.method.as_str(), endpoint.path);
            assert_eq!(answers[0].0, 404, "{at}: {answers:?}");
            assert_eq!(answers[0], answers[1], "{at}");
        }
    }
    for path in ["resources", "nodes", "proposals", "fleet_events", "gitops_sync_runs", "export_fleet_yaml"] {
        let asked = |repository: String| format!("/api/v1/system/{path}?repository={repository}");
        let theirs = installation.ask(&stranger.token, "GET", &asked(acme.repository.clone())).await;
        let absent = installation.ask(&stranger.token, "GET", &asked(unique_text())).await;
        assert_eq!((theirs.status, theirs.without_request()), (404, absent.without_request()), "{path}");
    }
    let after = everything(&installation, &acme.admin).await;
    assert_eq!(before, after, "nothing of acme moved");
    assert!(Noun::ALL.len() > 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_decides_only_about_ones_own() {
    let installation = Installation::start().await;
    let (acme, bravo) = two_tenants(&installation).await;
    let body = json!({"decision": "approve", "ids": [acme.proposal, bravo.proposal, "absent"]});
    let path = "/api/v1/system/proposals/batch";
    let decided = installation.tell(&bravo.admin.token, "POST", path, &body).await.expect(200);
    assert_eq!((&decided["done"], &decided["refused"]), (&json!(1), &json!(2)), "{decided}");
    assert_eq!(decided["results"][0]["error"], decided["results"][2]["error"]);
    assert_eq!(decided["results"][0]["status"], Value::Null);
    let theirs = installation.get(&acme.admin, &format!("/api/v1/system/proposals/{}", acme.proposal)).await;
    assert_eq!(theirs["proposal"]["status"], "pending_approval");
    assert_eq!(theirs["proposal"]["approvals"], json!([]));
    let body = json!({"decision": "reject", "approval_request_id": acme.run});
    let foreign = installation.tell(&bravo.admin.token, "POST", path, &body).await;
    let body = json!({"decision": "reject", "approval_request_id": unique_text()});
    let absent = installation.tell(&bravo.admin.token, "POST", path, &body).await;
    assert_eq!((foreign.status, foreign.without_request()), (404, absent.without_request()));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idempotency_key_of_another_account_is_a_key_of_ones_own() {
    let installation = Installation::start().await;
    let acme = installation.admin().await;
    let bravo = installation.new_account("bravo").await;
    let bravo = installation.person(&bravo, Role::Admin).await;
    for person in [&acme, &bravo] {
        let request = installation.request("POST", "/api/v1/system/clusters").bearer_auth(&person.token);
        let body = json!({"name": "one"});
        let reply = installation.send(request.header("idempotency-key", "same").json(&body)).await;
        reply.expect(201);
        assert_eq!(reply.header("idempotent-replay"), "");
        assert_eq!(installation.get(person, "/api/v1/system/clusters").await["clusters"][0]["name"], "one");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_hears_only_their_own_account() {
    let installation = Installation::start().await;
    let (acme, bravo) = two_tenants(&installation).await;
    let mut stream = installation.listen(&bravo.admin.token, "?after=0", None).await;
    installation.make_cluster(&acme.admin, "theirs").await.expect(201);
    installation.make_cluster(&bravo.admin, "the-last").await.expect(201);
    let mut heard = 0;
    loop {
        let event = stream.next().await.unwrap();
        heard += 1;
        let text = event.data.to_string();
        assert!(!text.contains("edge-0") && !text.contains("theirs") && !text.contains(&acme.repository));
        if event.data["resource_name"] == "the-last" {
            break;
        }
    }
    assert!(heard > 20, "{heard}");
}
