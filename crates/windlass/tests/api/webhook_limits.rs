//! Limits on webhook deliveries, from strangers and from forges.

use serde_json::Value;

use crate::harness::Installation;
use crate::signing::{SigningMethod, repository_with_webhook, seconds};

/// Far more than the limit.
const MANY: usize = 500;

#[tokio::test(flavor = "multi_thread")]
async fn unsigned_deliveries_are_limited_and_block_no_valid_delivery() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, id, keys) = repository_with_webhook(&installation, &admin).await;
    let mut stream = installation.listen(&admin.token, "?after=0&kind=gitops.webhook_refused", None).await;
    let mut refused = 0;
    let limited = loop {
        let reply =
            installation.push_hook(SigningMethod::GitHub, &keys.with_wrong_secrets(), "main", refused).await;
        if reply.status == 429 {
            break reply;
        }
        assert_eq!(reply.status, 401, "{reply:?}");
        refused += 1;
        assert!(refused < MANY);
    };
    assert!(refused >= 30 && limited.header("retry-after").parse::<u64>().unwrap() > 0, "{limited:?}");
    assert_eq!(
        installation.push_hook(SigningMethod::GitHub, &keys, "main", 1).await.status,
        202,
        "from the same address"
    );
    let event = stream.next().await.unwrap();
    assert_eq!(event.data["payload"]["reason"], "its signature does not match the secret");
    assert_eq!(event.data["payload"]["address"], "127.0.0.1");
    let path = "/api/v1/system/fleet_events?kind=gitops.webhook_refused";
    assert_eq!(
        installation.get(&admin, path).await["fleet_events"].as_array().unwrap().len(),
        1,
        "one is told of"
    );
    let path = format!("/api/v1/system/gitops_repositories/{id}/webhook");
    let shown = installation.get(&admin, &path).await;
    assert_eq!(shown["webhook"]["last_refusal"]["address"], "127.0.0.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_forge_that_sends_too_many_is_asked_to_wait_and_its_push_is_not_lost() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let (_work, id, keys) = repository_with_webhook(&installation, &admin).await;
    let next = async || -> Value {
        let path = format!("/api/v1/system/gitops_repositories/{id}");
        installation.get(&admin, &path).await["gitops_repository"]["next_sync_at"].clone()
    };
    let tomorrow = next().await;
    let headers = SigningMethod::GitHub.headers(&keys, "ping", b"{}", seconds());
    let mut taken = 0;
    while installation.deliver(&keys.url, &headers, b"{}").await.status == 200 {
        taken += 1;
        assert!(taken < MANY);
    }
    assert!(taken >= 60, "{taken}");
    assert_eq!(next().await, tomorrow, "a ping is nothing to lose");
    loop {
        // The allowance may have grown by one in the meantime.
        let reply = installation.push_hook(SigningMethod::GitHub, &keys, "main", taken).await;
        taken += 1;
        if reply.status == 429 {
            assert_ne!(reply.header("retry-after"), "");
            break;
        }
        assert!(taken < MANY, "{reply:?}");
    }
    assert!(next().await.as_str() < tomorrow.as_str(), "it is looked at soon");
}
