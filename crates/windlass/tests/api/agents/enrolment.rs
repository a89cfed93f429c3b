//! Tokens: each admits one agent, for one target, for a while.

use serde_json::json;
use windlass_core::digest::Digest;
use windlass_core::enrolment::{EnrolmentScope, EnrolmentToken, JoinPolicy};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::new_id;

use crate::agents::client::{TestAgent, add_node, enrolment_key, events, request};
use crate::harness::{Installation, Reply, now};

fn check_refused(reply: &Reply) {
    assert_eq!((reply.status, reply.code().as_str()), (403, "enrolment-refused"), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_enrols_once_with_its_token_as_the_node_that_the_token_is_for() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let key = enrolment_key(&installation, &admin, "edge-01").await;
    assert_eq!(key.server, format!("https://{}", installation.agent_address()));
    let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;
    let enrolled = agent.enrol(key.token.expose(), "localhost").await.expect(201);
    assert_eq!(enrolled["identity"]["target"], json!({"kind": "node", "name": "edge-01"}));
    assert_eq!(enrolled["identity"]["account"], "acme");
    assert_eq!(enrolled["identity"]["enrolment"], 1);
    assert_eq!(enrolled["certificate"]["valid_for_seconds"], 24 * 3600);
    assert_eq!(enrolled["certificate"]["renew_after_seconds"], 16 * 3600);
    assert_eq!(enrolled["trust"]["authorities"].as_array().unwrap().len(), 1);
    assert_eq!(enrolled["trust"]["assignment_keys"].as_array().unwrap().len(), 1);
    assert!(agent.works().await);

    // A second agent with the same token is refused like one with no token at all, and the first goes on.
    let mut thief = TestAgent::new(installation.agent_address(), &key.authority).await;
    let reused = thief.enrol(key.token.expose(), "edge-01").await;
    check_refused(&reused);
    let unknown = thief.enrol("wlenroll_unknown", "edge-01").await;
    assert_eq!(unknown.without_request(), reused.without_request());
    assert!(agent.works().await);
    let refused = events(&installation, &admin, "agent.enrolment_refused").await;
    assert_eq!(refused.len(), 1, "an unknown token belongs to no account: {refused:?}");
    assert_eq!(refused[0]["payload"]["reason"], "used_token");
    assert_eq!(events(&installation, &admin, "agent.enrolled").await.len(), 1);
    let audit = installation.get(&admin, "/api/v1/system/audit").await;
    let actions: Vec<&str> =
        audit["audit"].as_array().unwrap().iter().map(|entry| entry["action"].as_str().unwrap()).collect();
    assert!(actions.starts_with(&["agent.enrol", "enrolment_token.create"]), "{actions:?}");
    assert!(!audit.to_string().contains(key.token.expose()));
    let tokens = installation.get(&admin, "/api/v1/system/enrollment_tokens").await;
    assert_eq!(tokens["enrollment_tokens"], json!([]), "it is used");
}

#[tokio::test(flavor = "multi_thread")]
async fn expired_revoked_and_orphaned_tokens_are_refused_with_their_reason_in_the_event() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let key = enrolment_key(&installation, &admin, "edge-01").await;
    let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;

    let hour = std::time::Duration::from_secs(3600);
    let token = |target: &str, secret: &str| {
        let token = EnrolmentToken {
            id: new_id(),
            account_id: installation.account.clone(),
            scope: EnrolmentScope::Target(ResourceKey::new(Kind::Node, target)),
            policy: JoinPolicy::Auto,
            max_uses: 1,
            uses: 0,
            created_by: "ada".to_owned(),
            created_at: now().minus(hour + hour),
            expires_at: if target == "edge-01" { now().minus(hour) } else { now().plus(hour) },
            revoked_at: None,
        };
        (token, Digest::of(secret.as_bytes()).to_string())
    };
    let mut writing = installation.store.write_account(&installation.account).await.unwrap();
    for (target, secret) in [("edge-01", "expired"), ("gone", "orphan")] {
        let (token, hash) = token(target, secret);
        writing.enrolment_token_add(&token, &hash).await.unwrap();
    }
    writing.commit().await.unwrap();
    check_refused(&agent.enrol("expired", "edge-01").await);
    check_refused(&agent.enrol("orphan", "gone").await);

    let open = installation.get(&admin, "/api/v1/system/enrollment_tokens").await;
    let tokens = open["enrollment_tokens"].as_array().unwrap();
    let mine = tokens.iter().find(|token| token["target"] == "node/edge-01").unwrap();
    let path = format!("/api/v1/system/enrollment_tokens/{}", mine["id"].as_str().unwrap());
    installation.ask(&admin.token, "DELETE", &path).await.expect(204);
    assert_eq!(installation.ask(&admin.token, "DELETE", &path).await.status, 404);
    check_refused(&agent.enrol(key.token.expose(), "edge-01").await);

    let refused = events(&installation, &admin, "agent.enrolment_refused").await;
    let reasons: Vec<&str> =
        refused.iter().map(|event| event["payload"]["reason"].as_str().unwrap()).collect();
    assert_eq!(reasons, ["revoked_token", "no_target", "expired_token"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_is_created_for_existing_targets_only_and_within_bounds() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let enroll = async |node: &str, body: serde_json::Value| {
        let path = format!("/api/v1/system/nodes/{node}/enrollment");
        installation.tell(&admin.token, "POST", &path, &body).await
    };
    assert_eq!(enroll("absent", json!({})).await.status, 404);
    for seconds in [0, 59, 86_401] {
        assert_eq!(enroll("edge-01", json!({"expires_in_seconds": seconds})).await.status, 422, "{seconds}");
    }
    enroll("edge-01", json!({"expires_in_seconds": 60})).await.expect(201);
    let batch = async |body: serde_json::Value| {
        installation.tell(&admin.token, "POST", "/api/v1/system/enrollment_tokens", &body).await.status
    };
    assert_eq!(batch(json!({"selector": {}, "uses": 1})).await, 422);
    assert_eq!(batch(json!({"selector": {"labels": {"env": "a b"}}, "uses": 1})).await, 422);
    assert_eq!(batch(json!({"selector": {"name": "*"}, "uses": 0})).await, 422);
    assert_eq!(batch(json!({"selector": {"name": "*"}, "uses": 10_001})).await, 422);
    assert_eq!(batch(json!({"selector": {"name": "*"}, "uses": 10_000})).await, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn malformed_enrolments_are_refused_and_use_no_token() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let key = enrolment_key(&installation, &admin, "edge-01").await;
    let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;
    let (certificate_request, _) = request(|_| {});
    let token = key.token.expose();
    for body in [
        json!({"token": token, "certificate_request": "nonsense", "agent_version": "1"}),
        json!({"token": token, "certificate_request": certificate_request}),
        json!({"token": token, "certificate_request": certificate_request, "agent_version": "1", "target": "x"}),
    ] {
        let reply = agent.send("POST", "/agent/v1/enroll", Some(&body)).await;
        assert_eq!(reply.status, 400, "{reply:?}");
        assert!(!reply.text.contains(token));
    }
    let large = json!({"token": token, "certificate_request": "x".repeat(20_000), "agent_version": "1"});
    assert_eq!(agent.send("POST", "/agent/v1/enroll", Some(&large)).await.status, 413);
    agent.enrol(token, "edge-01").await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_machine_that_was_installed_again_replaces_the_one_before() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let before = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let after = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    assert_eq!(after.identity["enrolment"], 2);
    assert!(after.works().await);
    let reply = before.send("GET", "/agent/v1/stream", None).await;
    assert_eq!((reply.status, reply.code().as_str()), (403, "agent-revoked"), "{reply:?}");
}
