//! What ends together: API tokens with a password reset and with a membership, roles of groups after the length of a
//! session.

use std::time::Duration;

use serde_json::json;
use windlass_api::permission::{Permission, Role};

use crate::harness::{Installation, Life, now};

const STATUS: &str = "/api/v1/system/status";

#[tokio::test(flavor = "multi_thread")]
async fn a_password_reset_revokes_api_tokens_unless_they_are_kept() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for (body, status, tokens_ended) in [
        (json!({"reset_password": true, "keep_tokens": true}), 200, 0),
        (json!({"reset_password": true}), 401, 1),
    ] {
        let person = installation.person(&installation.account, Role::Operator).await;
        let token = installation.api_token(&person, &[Permission::GitopsRead], Life::Good).await;
        let path = format!("/api/v1/auth/users/{}", person.id);
        installation.tell(&admin.token, "PATCH", &path, &body).await.expect(200);
        assert_eq!(installation.ask(&person.token, "GET", STATUS).await.status, 401, "sessions always end");
        assert_eq!(installation.ask(&token.secret, "GET", STATUS).await.status, status, "{body}");
        let record = installation.get(&admin, "/api/v1/system/audit?limit=1").await["audit"][0].clone();
        assert_eq!(record["detail"]["tokens_ended"], tokens_ended, "{record}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_into_an_account_does_not_find_old_tokens_working() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let person = installation.person(&installation.account, Role::Operator).await;
    let token = installation.api_token(&person, &[Permission::GitopsRead], Life::Good).await;
    let path = format!("/api/v1/auth/users/{}", person.id);
    installation.ask(&admin.token, "DELETE", &path).await.expect(204);
    installation.add_to_account(&person, &installation.account, Role::Admin).await;
    assert_eq!(installation.ask(&token.secret, "GET", STATUS).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn roles_from_groups_expire_with_the_session_lifetime_also_for_tokens() {
    let installation = Installation::start().await;
    let person = installation.person(&installation.account, Role::Viewer).await;
    let token = installation.api_token(&person, &[Permission::GitopsRead], Life::Good).await;
    let hours = |number: u64| Duration::from_secs(3600 * number);
    for (proved_at, status) in [(now().minus(hours(11)), 200), (now().minus(hours(12)), 401), (now(), 200)] {
        let mut writing = installation.store.write().await.unwrap();
        writing.member_grant(&installation.account, &person.id, Role::Viewer, proved_at).await.unwrap();
        writing.commit().await.unwrap();
        for secret in [&person.token, &token.secret] {
            assert_eq!(installation.ask(secret, "GET", STATUS).await.status, status);
        }
    }
    // A role that someone assigned does not depend on the provider.
    let mut writing = installation.store.write().await.unwrap();
    writing
        .member_set(&installation.account, &person.id, Role::Viewer, now().minus(hours(1000)))
        .await
        .unwrap();
    writing.commit().await.unwrap();
    installation.ask(&token.secret, "GET", STATUS).await.expect(200);
}
