//! The stream: what an agent is told, and how soon.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::digest::Digest;
use windlass_core::observed::LastContact;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::NewAssignment;

use crate::agents::client::{TestAgent, add_node};
use crate::harness::{Installation, now};

async fn assign(installation: &Installation, node: &str, document: &str) {
    let target = ResourceKey::new(Kind::Node, node);
    let new = NewAssignment {
        target: &target,
        document,
        digest: Digest::of(document.as_bytes()),
        own_approvals: "[]",
        shared_approvals: "[]",
    };
    let mut writing = installation.store.write().await.unwrap();
    writing.assignments_put(&installation.account, &[new], now()).await.unwrap();
    writing.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_begins_with_where_things_stand_and_tells_each_new_generation_of_its_node() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    add_node(&installation, "edge-02", json!({})).await;
    assign(&installation, "edge-01", "one").await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let mut lines = agent.stream().await;
    let hello = lines.next().await.unwrap();
    assert_eq!((&hello["message"], &hello["generation"]), (&json!("hello"), &json!(1)));
    assert_eq!(hello["silence_seconds"], 60);
    let renew_after = hello["renew_after_seconds"].as_u64().unwrap();
    assert!((57_000..=57_600).contains(&renew_after), "{renew_after}");
    assign(&installation, "edge-02", "other").await;
    assign(&installation, "edge-01", "two").await;
    assert_eq!(lines.next_news().await, Some(json!({"message": "assignment", "generation": 2})));
    assign(&installation, "edge-01", "three").await;
    assert_eq!(lines.next_news().await, Some(json!({"message": "assignment", "generation": 3})));

    // A second stream of the same agent ends the first, whose connection is probably dead.
    let mut second = agent.stream().await;
    assert_eq!(second.next().await.unwrap()["generation"], 3);
    assert_eq!(lines.next_news().await, None);

    // Contacts are stored when the server stops, at the latest.
    let account = installation.account.clone();
    let installation = installation.restart().await;
    assert_eq!(second.next_news().await, None, "the stream ended with its server");
    let target = ResourceKey::new(Kind::Node, "edge-01");
    let stored = installation.store.read().await.unwrap().agent_of(&account, &target).await.unwrap();
    assert!(matches!(stored.unwrap().last_contact, LastContact::At(_)));
}

#[tokio::test(flavor = "multi_thread")]
async fn revoking_an_agent_ends_its_stream_within_a_second_and_refuses_its_requests() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let mut agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let mut lines = agent.stream().await;
    assert_eq!(lines.next().await.unwrap()["message"], "hello");
    let path = "/api/v1/system/nodes/edge-01/revoke_agent";
    installation.ask(&admin.token, "POST", path).await.expect(200);
    let begun = Instant::now();
    assert_eq!(lines.next_news().await, Some(json!({"message": "revoked"})));
    assert_eq!(lines.next_news().await, None);
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    for (method, path) in [("GET", "/agent/v1/stream"), ("POST", "/agent/v1/renew")] {
        let reply = agent.send(method, path, None).await;
        assert_eq!((reply.status, reply.code().as_str()), (403, "agent-revoked"), "{path}");
    }
    assert_eq!(agent.renew(|_| {}).await.status, 403);
    let again = installation.ask(&admin.token, "POST", path).await;
    assert_eq!((again.status, again.code().as_str()), (409, "no-agent"));
}
