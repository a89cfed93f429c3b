//! Tokens for several nodes: which nodes may join, and who decides.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::agents::client::{TestAgent, add_node, enrolment_key, events, read_key, request};
use crate::harness::{Installation, Person};

async fn batch(installation: &Installation, who: &Person, body: Value) -> windlass_api::agent::EnrolmentKey {
    let path = "/api/v1/system/enrollment_tokens";
    let created = installation.tell(&who.token, "POST", path, &body).await.expect(201);
    read_key(created["key"].as_str().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn selected_nodes_without_an_agent_join_until_the_token_is_used_up() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for (name, env) in [("web-1", "prod"), ("web-2", "prod"), ("web-3", "prod"), ("lab-1", "lab")] {
        add_node(&installation, name, json!({"env": env})).await;
    }
    let selector = json!({"labels": {"env": "prod"}, "name": "web-*"});
    let key = batch(&installation, &admin, json!({"selector": selector, "uses": 2})).await;
    let agent = TestAgent::new(installation.agent_address(), &key.authority).await;
    let token = key.token.expose();
    let mut one = agent.clone();
    one.enrol(token, "web-1").await.expect(201);
    assert_eq!(one.identity["target"]["name"], "web-1");
    for hostname in ["lab-1", "web-1", "absent", "../web-2", ""] {
        assert_eq!(agent.clone().enrol(token, hostname).await.code(), "enrolment-refused", "{hostname}");
    }
    let mut two = agent.clone();
    two.enrol(token, "web-2").await.expect(201);
    assert_eq!(agent.clone().enrol(token, "web-3").await.status, 403, "two uses");
    assert!(one.works().await && two.works().await);
    let refused = events(&installation, &admin, "agent.enrolment_refused").await;
    let mut reasons: Vec<&str> =
        refused.iter().map(|event| event["payload"]["reason"].as_str().unwrap()).collect();
    reasons.sort_unstable();
    assert_eq!(reasons, ["already_enrolled", "not_selected", "unknown_node", "used_token"], "each once");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_policy_approve_a_person_decides_and_exactly_that_agent_joins() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "web-1", json!({"env": "prod"})).await;
    add_node(&installation, "web-2", json!({"env": "prod"})).await;
    let body = json!({"selector": {"labels": {"env": "prod"}}, "uses": 5, "join": "approve"});
    let key = batch(&installation, &admin, body).await;
    let token = key.token.expose();
    let mut agent = TestAgent::new(installation.agent_address(), &key.authority).await;
    let (certificate_request, pair) = request(|_| {});
    for _ in 0..2 {
        let waiting = agent.enrol_with(token, "web-1", &certificate_request, &pair).await;
        assert_eq!((waiting.status, waiting.code().as_str()), (409, "join-pending"), "{waiting:?}");
        assert_eq!(waiting.header("retry-after"), "30");
    }
    assert_eq!(agent.clone().enrol(token, "web-1").await.status, 403, "another key waits already");
    let joins = installation.get(&admin, "/api/v1/system/node_joins").await;
    let [join] = joins["node_joins"].as_array().unwrap().as_slice() else { panic!("one join: {joins}") };
    assert_eq!((&join["node"], &join["state"]), (&json!("web-1"), &json!("pending")));
    let approve = format!("/api/v1/system/node_joins/{}/approve", join["id"].as_str().unwrap());
    let operator = installation.person(&installation.account, Role::Viewer).await;
    assert_eq!(installation.ask(&operator.token, "POST", &approve).await.status, 403);
    let decided = installation.ask(&admin.token, "POST", &approve).await.expect(200);
    assert_eq!(decided["node_join"]["state"], "approved");
    assert_eq!(installation.ask(&admin.token, "POST", &approve).await.status, 409, "decided already");
    assert_eq!(agent.clone().enrol(token, "web-1").await.status, 403, "another key than the approved one");
    agent.enrol_with(token, "web-1", &certificate_request, &pair).await.expect(201);
    assert!(agent.works().await);

    let mut rejected = agent.clone();
    let waiting = rejected.enrol_with(token, "web-2", &certificate_request, &pair).await;
    assert_eq!(waiting.code(), "join-pending");
    let joins = installation.get(&admin, "/api/v1/system/node_joins").await;
    let id = joins["node_joins"][0]["id"].as_str().unwrap();
    let reject = format!("/api/v1/system/node_joins/{id}/reject");
    installation.ask(&admin.token, "POST", &reject).await.expect(200);
    let reply = rejected.enrol_with(token, "web-2", &certificate_request, &pair).await;
    assert_eq!(reply.code(), "enrolment-refused");
    for (kind, count) in [
        ("agent.join_requested", 2),
        ("agent.join_approved", 1),
        ("agent.join_rejected", 1),
        ("agent.enrolled", 1),
    ] {
        assert_eq!(events(&installation, &admin, kind).await.len(), count, "{kind}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_of_someone_who_may_not_approve_admits_nobody_until_an_approver_agrees() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let operator = installation.person(&installation.account, Role::Operator).await;
    add_node(&installation, "db-1", json!({"env": "prod"})).await;
    let key = enrolment_key(&installation, &admin, "db-1").await;
    let mut in_service = TestAgent::new(installation.agent_address(), &key.authority).await;
    in_service.enrol(key.token.expose(), "db-1").await.expect(201);

    let path = "/api/v1/system/nodes/db-1/enrollment";
    let created =
        installation.tell(&operator.token, "POST", path, &json!({"join": "auto"})).await.expect(201);
    assert_eq!(created["enrollment_token"]["join"], "approve");
    let own = read_key(created["key"].as_str().unwrap());
    let batch_body = json!({"selector": {"name": "*"}, "uses": 5, "join": "auto"});
    let several = batch(&installation, &operator, batch_body).await;
    let (certificate_request, pair) = request(|_| {});
    let mut intruder = in_service.clone();
    let waiting = intruder.enrol_with(own.token.expose(), "db-1", &certificate_request, &pair).await;
    assert_eq!(waiting.code(), "join-pending", "{waiting:?}");
    add_node(&installation, "db-2", json!({})).await;
    let waiting =
        intruder.clone().enrol_with(several.token.expose(), "db-2", &certificate_request, &pair).await;
    assert_eq!(waiting.code(), "join-pending", "{waiting:?}");
    assert!(in_service.works().await, "the agent in service stays");

    let joins = installation.get(&admin, "/api/v1/system/node_joins").await;
    let join = joins["node_joins"].as_array().unwrap().iter().find(|join| join["node"] == "db-1").unwrap();
    let approve = format!("/api/v1/system/node_joins/{}/approve", join["id"].as_str().unwrap());
    assert_eq!(installation.ask(&operator.token, "POST", &approve).await.status, 403);
    installation.ask(&admin.token, "POST", &approve).await.expect(200);
    intruder.enrol_with(own.token.expose(), "db-1", &certificate_request, &pair).await.expect(201);
    assert!(intruder.works().await && !in_service.works().await, "an approver agreed to the replacement");
}
