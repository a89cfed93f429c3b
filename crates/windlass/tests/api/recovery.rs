//! The administrator of the installation can neither be removed nor locked out, and can be restored on the server's
//! machine.

use serde_json::json;
use windlass_api::permission::{Permission, Role};
use windlass_core::id::{AccountId, UserId};
use windlass_server::{Recovery, RecoveryError, TokenHandling, recover_admin};
use windlass_store::LogVerification;

use crate::harness::{Installation, Life, now};

fn user(id: &UserId) -> String {
    format!("/api/v1/auth/users/{id}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_of_an_account_cannot_remove_or_lock_out_an_installation_administrator() {
    let installation = Installation::start().await;
    let (root, admin) = (installation.root().await, installation.admin().await);
    let path = user(&root.id);
    for body in [
        json!({"role": "viewer"}),
        json!({"role": "admin"}),
        json!({"disabled": true}),
        json!({"disabled": false}),
        json!({"reset_password": true}),
    ] {
        let refused = installation.tell(&admin.token, "PATCH", &path, &body).await;
        assert_eq!((refused.status, refused.code().as_str()), (403, "forbidden"), "{body}: {refused:?}");
    }
    assert_eq!(installation.ask(&admin.token, "DELETE", &path).await.status, 403);
    let me = installation.ask(&root.token, "GET", "/api/v1/auth/me").await.expect(200);
    assert_eq!((&me["role"], &me["is_root"]), (&json!("admin"), &json!(true)));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_administrator_of_the_installation_cannot_lock_themselves_out() {
    let installation = Installation::start().await;
    let (root, _other) = (installation.root().await, installation.admin().await);
    let path = user(&root.id);
    let disabled = installation.tell(&root.token, "PATCH", &path, &json!({"disabled": true})).await;
    assert_eq!((disabled.status, disabled.code().as_str()), (409, "last-root"), "{disabled:?}");
    let left = installation.ask(&root.token, "DELETE", &path).await;
    assert_eq!((left.status, left.code().as_str()), (409, "last-root"), "{left:?}");
    let bravo = installation.new_account("bravo").await;
    installation.add_to_account(&root, &bravo, Role::Admin).await;
    installation.ask(&root.token, "DELETE", &path).await.expect(204);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_administrator_is_let_in_again_while_the_server_runs_and_it_is_on_the_record() {
    let installation = Installation::start().await;
    let root = installation.root().await;
    installation.admin().await;
    let token = installation.api_token(&root, &[Permission::GitopsRead], Life::Good).await;
    // As if an earlier version had allowed this.
    let mut writing = installation.store.write().await.unwrap();
    writing.member_remove(&installation.account, &root.id, now()).await.unwrap();
    writing.user_set_disabled(&root.id, Some(now())).await.unwrap();
    writing.commit().await.unwrap();
    let recovered = recover_admin(&installation.store, &Recovery::default()).await.unwrap();
    assert_eq!((recovered.email.as_str(), recovered.account.as_str()), ("admin@localhost", "acme"));
    let body = json!({"email": recovered.email, "password": recovered.password.expose()});
    let request = installation.request("POST", "/api/v1/auth/login").json(&body);
    let session = installation.send(request).await.expect(200);
    assert_eq!((&session["me"]["is_root"], &session["me"]["role"]), (&json!(true), &json!("admin")));
    assert_eq!(session["me"]["must_change_password"], true);
    for old in [&root.token, &token.secret] {
        assert_eq!(installation.ask(old, "GET", "/api/v1/auth/me").await.status, 401);
    }
    let mut reading = installation.store.read().await.unwrap();
    for account in [&AccountId::installation(), &installation.account] {
        let entries = reading.audit(account, None, i64::MAX, 20).await.unwrap();
        let entry = entries.iter().find(|entry| entry.action == "user.recover").unwrap();
        assert_eq!((entry.target.as_str(), entry.outcome.as_str()), ("admin@localhost", "done"));
        assert!(!entry.detail.contains(recovered.password.expose().as_str()));
        let verified = reading.audit_verify(account).await.unwrap();
        assert!(matches!(verified, LogVerification::Intact { .. }), "{verified:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_administrator_can_be_made_but_nobody_who_signs_in_elsewhere() {
    let installation = Installation::start().await;
    let person = installation.person(&installation.account, Role::Viewer).await;
    let named =
        |email: &str| Recovery { email: Some(email.to_owned()), tokens: TokenHandling::Keep, account: None };
    let made = recover_admin(&installation.store, &named("New@example.com")).await.unwrap();
    assert_eq!(made.email, "new@example.com");
    let promoted = recover_admin(&installation.store, &named(&person.email)).await.unwrap();
    assert_eq!(promoted.email, person.email);
    let roots = installation.store.read().await.unwrap().users_root().await.unwrap();
    assert_eq!(roots.len(), 3, "{roots:?}");
    let elsewhere = installation.person(&installation.account, Role::Admin).await;
    let mut writing = installation.store.write().await.unwrap();
    writing.identity_add("https://id.example.com", "1", &elsewhere.id, now()).await.unwrap();
    writing.commit().await.unwrap();
    let refused = recover_admin(&installation.store, &named(&elsewhere.email)).await;
    assert!(matches!(refused, Err(RecoveryError::Sso { .. })), "{refused:?}");
}
