//! `Idempotency-Key`: a repeated request gets the same response and has no second effect.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::harness::{FLEET, Installation, Person, Reply, fleet};

const CLUSTERS: &str = "/api/v1/system/clusters";

async fn post(installation: &Installation, person: &Person, path: &str, key: &str, body: &Value) -> Reply {
    let request =
        installation.request("POST", path).bearer_auth(&person.token).header("idempotency-key", key);
    installation.send(request.json(body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_again_is_answered_the_same_and_anything_else_is_refused() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let body = json!({"name": "one"});
    let first = post(&installation, &admin, CLUSTERS, "key", &body).await;
    first.expect(201);
    let second = post(&installation, &admin, CLUSTERS, "key", &body).await;
    assert_eq!((second.status, &second.text), (201, &first.text));
    assert_eq!(second.header("idempotent-replay"), "true");
    assert_eq!(second.header("content-type"), "application/json");
    let other = post(&installation, &admin, CLUSTERS, "key", &json!({"name": "two"})).await;
    assert_eq!((other.status, other.code().as_str()), (422, "idempotency-reused"));
    let elsewhere = post(&installation, &admin, "/api/v1/system/cluster_groups", "key", &body).await;
    assert_eq!(elsewhere.status, 422);
    let colleague = installation.admin().await;
    let theirs = post(&installation, &colleague, CLUSTERS, "key", &body).await;
    assert_eq!(theirs.status, 422, "one person's answer is not another's");
    let installation = installation.restart().await;
    let third = post(&installation, &admin, CLUSTERS, "key", &body).await;
    assert_eq!((third.status, &third.text), (201, &first.text));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_can_be_tried_again_with_its_key() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let group = json!({"hostname": "n", "template": "later"});
    assert_eq!(post(&installation, &admin, "/api/v1/system/nodes", "key", &group).await.status, 422);
    let template = json!({"name": "later", "node_platform": "ubuntu-24.04-amd64"});
    installation.tell(&admin.token, "POST", "/api/v1/system/node_templates", &template).await.expect(201);
    post(&installation, &admin, "/api/v1/system/nodes", "key", &group).await.expect(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn at_once_it_is_done_once() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut asked = Vec::new();
    for _ in 0..10 {
        let request = installation.request("POST", CLUSTERS).bearer_auth(&admin.token);
        asked.push(tokio::spawn(
            request.header("idempotency-key", "key").json(&json!({"name": "one"})).send(),
        ));
    }
    let mut done = 0;
    for answer in asked {
        let answer = answer.await.unwrap().unwrap();
        let status = answer.status().as_u16();
        let code = answer.text().await.unwrap();
        assert!(status == 201 || code.contains("idempotency-under-way"), "{status} {code}");
        done += usize::from(status == 201);
    }
    assert!(done >= 1);
    let made = installation.get(&admin, "/api/v1/system/audit?target=cluster/one").await;
    assert_eq!(made["audit"].as_array().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_is_shown_once_is_neither_kept_nor_made_twice() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let token = json!({"name": "ci"});
    let first = post(&installation, &admin, "/api/v1/auth/tokens", "key", &token).await;
    let secret = first.expect(201)["secret"].as_str().unwrap().to_owned();
    let second = post(&installation, &admin, "/api/v1/auth/tokens", "key", &token).await;
    assert_eq!((second.status, second.code().as_str()), (409, "idempotency-shown-once"), "{second:?}");
    let tokens = installation.get(&admin, "/api/v1/auth/tokens").await;
    assert_eq!(tokens["tokens"].as_array().unwrap().len(), 1);
    let user = json!({"email": "new@example.com", "role": "viewer"});
    post(&installation, &admin, "/api/v1/auth/users", "user", &user).await.expect(201);
    assert_eq!(post(&installation, &admin, "/api/v1/auth/users", "user", &user).await.status, 409);
    let kept =
        installation.store.read().await.unwrap().request(&admin.account, "key").await.unwrap().unwrap();
    let body = kept.answer.unwrap().body;
    assert!(!body.contains(&secret) && !body.contains("wlt_"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_none_is_refused_and_nothing_is_done() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for key in [b"".to_vec(), vec![b'x'; 201], b"\xff\xfe".to_vec()] {
        let request = installation.request("POST", CLUSTERS).bearer_auth(&admin.token);
        let request =
            request.header("idempotency-key", reqwest::header::HeaderValue::from_bytes(&key).unwrap());
        assert_eq!(installation.send(request.json(&json!({"name": "one"}))).await.status, 400);
    }
    assert_eq!(installation.get(&admin, CLUSTERS).await["clusters"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_gives_nobody_what_they_may_not_do() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let body = json!({"name": "one"});
    post(&installation, &admin, CLUSTERS, "key", &body).await.expect(201);
    assert_eq!(post(&installation, &viewer, CLUSTERS, "key", &body).await.status, 403);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_on_the_record_can_be_tried_again_with_its_key() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let path = format!("/api/v1/system/proposals/{}/approve", run["proposals"][0]["id"].as_str().unwrap());
    let wrong = json!({"digest": "sha256:another"});
    for _ in 0..2 {
        let refused = post(&installation, &admin, &path, "key", &wrong).await;
        assert_eq!((refused.status, refused.code().as_str()), (409, "moved"), "{refused:?}");
    }
}
