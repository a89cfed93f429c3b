//! Who an agent is: what its certificate says, and nothing else.

use std::time::{Duration, Instant};

use rcgen::{BasicConstraints, DnType, IsCa, SanType};
use serde_json::{Value, json};

use crate::agents::client::{Hours, TestAgent, TestIssuer, add_node, certificate, events};
use crate::harness::Installation;

/// Revokes the agent of a node, and returns which one that was.
async fn revoked_agent(installation: &Installation, token: &str, node: &str) -> Value {
    let path = format!("/api/v1/system/nodes/{node}/revoke_agent");
    installation.ask(token, "POST", &path).await.expect(200)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_is_for_the_agent_that_asks_whatever_its_request_claims() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    add_node(&installation, "edge-02", json!({})).await;
    let mut one = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let two = TestAgent::enrolled(&installation, &admin, "edge-02").await;
    let claim = two.agent_id();
    one.renew(|params| {
        params.distinguished_name.push(DnType::CommonName, format!("agent {claim}"));
        let uri = format!("windlass://agent/{claim}");
        params.subject_alt_names = vec![SanType::URI(uri.try_into().unwrap())];
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    })
    .await
    .expect(200);
    assert!(one.works().await && two.works().await);
    // The renewed certificate is the first agent's: it ends with the first agent, and the second goes on.
    let revoked = revoked_agent(&installation, &admin.token, "edge-01").await;
    assert_eq!(revoked, json!({"agent_id": one.agent_id(), "target": "node/edge-01"}));
    let reply = one.send("GET", "/agent/v1/stream", None).await;
    assert_eq!((reply.status, reply.code().as_str()), (403, "agent-revoked"));
    assert!(two.works().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_is_refused_and_reported() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let hours = Hours { from: -1, to: 1 };
    let credential = certificate(&TestIssuer::Stranger, &agent.agent_id(), hours);
    let mut forger = TestAgent { credential: Some(credential), ..agent.clone() };
    let request = crate::agents::client::request(|_| {}).0;
    let body = json!({"certificate_request": request, "agent_version": "1"});
    assert!(forger.try_send("POST", "/agent/v1/renew", Some(&body)).await.is_err(), "the handshake fails");
    let deadline = Instant::now() + Duration::from_secs(30);
    let refused = loop {
        let found = events(&installation, &admin, "agent.certificate_refused").await;
        if !found.is_empty() {
            break found;
        }
        assert!(Instant::now() < deadline, "no event");
        tokio::task::yield_now().await;
    };
    assert_eq!(refused[0]["payload"]["reason"], "foreign_authority");
    assert_eq!(refused[0]["payload"]["agent_id"], agent.agent_id());
    assert!(agent.works().await);
    // Without any certificate, nothing but enrolment is there.
    forger.credential = None;
    for (method, path) in [("POST", "/agent/v1/renew"), ("GET", "/agent/v1/stream")] {
        let reply = forger.send(method, path, Some(&body)).await;
        assert_eq!((reply.status, reply.code().as_str()), (401, "unauthorized"), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_certificate_may_only_be_renewed_and_not_for_ever() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let with = |hours: Hours| TestAgent {
        credential: Some(certificate(&TestIssuer::Installation(&installation), &agent.agent_id(), hours)),
        ..agent.clone()
    };
    assert!(with(Hours { from: -1, to: 1 }).works().await, "the test's certificates are like the server's");
    let mut expired = with(Hours { from: -49, to: -25 });
    let reply = expired.send("GET", "/agent/v1/stream", None).await;
    assert_eq!((reply.status, reply.code().as_str()), (401, "certificate-expired"), "{reply:?}");
    expired.renew(|_| {}).await.expect(200);
    assert!(expired.works().await, "with its new certificate");

    let month = 30 * 24;
    let mut forgotten = with(Hours { from: -month - 26, to: -month - 2 });
    assert_eq!(forgotten.renew(|_| {}).await.status, 401);
    let mut early = with(Hours { from: 1, to: 2 });
    assert_eq!(early.renew(|_| {}).await.status, 401, "not valid yet");
    let refused = events(&installation, &admin, "agent.certificate_refused").await;
    assert_eq!(refused[0]["payload"]["reason"], "expired");

    revoked_agent(&installation, &admin.token, "edge-01").await;
    let mut revoked = with(Hours { from: -49, to: -25 });
    let reply = revoked.renew(|_| {}).await;
    assert_eq!((reply.status, reply.code().as_str()), (403, "agent-revoked"), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_stay_valid_when_the_server_restarts() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let installation = installation.restart().await;
    let mut agent = TestAgent { address: installation.agent_address(), ..agent };
    assert!(agent.works().await);
    agent.renew(|_| {}).await.expect(200);
    assert!(agent.works().await);
}
