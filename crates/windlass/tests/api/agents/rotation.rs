//! Rotating the secret key, and with it the authority: agents go on, and learn the new authority.

use std::time::Duration;

use serde_json::json;
use windlass_server::{KeySource, rotate_key};

use crate::agents::client::{TestAgent, add_node, chain_of, enrolment_key, pem_of};
use crate::harness::Installation;

async fn rotated(installation: Installation, overlap: Duration) -> Installation {
    let data = installation.directory.path().join("data");
    rotate_key(&KeySource::DataDirectory, &data, overlap).unwrap();
    installation.restart().await
}

#[tokio::test(flavor = "multi_thread")]
async fn during_the_overlap_old_agents_work_and_learn_the_new_authority() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    add_node(&installation, "edge-02", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let pasted_later = enrolment_key(&installation, &admin, "edge-02").await;
    let installation = rotated(installation, Duration::from_secs(3600)).await;
    let address = installation.agent_address();

    let mut agent = TestAgent { address, ..agent };
    let before = agent.authorities.clone();
    assert!(agent.works().await, "it knows the previous authority only");
    let renewed = agent.renew(|_| {}).await.expect(200);
    assert_eq!(agent.authorities.len(), 2, "the new one first");
    assert_eq!(agent.authorities[1], before[0]);
    assert_eq!(renewed["trust"]["assignment_keys"].as_array().unwrap().len(), 2);
    assert!(agent.works().await, "with a certificate of the new authority");
    let only_new = TestAgent { authorities: vec![agent.authorities[0].clone()], ..agent.clone() };
    assert!(only_new.works().await, "the chain leads to the new authority too");

    // An enrolment key that was printed before the rotation still works.
    let mut late = TestAgent::new(address, &pasted_later.authority).await;
    late.enrol(pasted_later.token.expose(), "edge-02").await.expect(201);
    assert!(late.works().await);

    let fresh = enrolment_key(&installation, &installation.admin().await, "edge-02").await;
    assert_ne!(fresh.authority, pasted_later.authority);
    let chain = chain_of(address).await;
    assert_eq!(chain.len(), 4);
    assert!(pem_of("CERTIFICATE", &chain[1]).len() > 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_overlap_only_agents_that_renewed_before_go_on() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    add_node(&installation, "edge-01", json!({})).await;
    let agent = TestAgent::enrolled(&installation, &admin, "edge-01").await;
    let installation = rotated(installation, Duration::ZERO).await;
    let address = installation.agent_address();
    let agent = TestAgent { address, ..agent };
    assert!(!agent.works().await, "neither trusts the other");
    let trusting = TestAgent {
        authorities: chain_of(address).await.iter().map(|der| pem_of("CERTIFICATE", der)).collect(),
        ..agent
    };
    assert!(!trusting.works().await, "the server refuses a certificate of the previous authority");
}
