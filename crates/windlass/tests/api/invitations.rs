//! Nobody is added to an account without their consent, and an account learns nothing about the people it invites.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::permission::Role;
use windlass_core::id::AccountId;
use windlass_store::{Invitation, new_id};

use crate::harness::{ALL, Installation, Life, Person, Reply, now};

const USERS: &str = "/api/v1/auth/users";
const SENT: &str = "/api/v1/auth/invitations";
const RECEIVED: &str = "/api/v1/auth/me/invitations";

/// Two accounts, an admin of the first who does not administer the installation, and a member of the second.
async fn world() -> (Installation, Person, Person) {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let bravo = installation.new_account("bravo").await;
    let known = installation.person_with_email("known@example.com", &bravo, Role::Operator).await;
    (installation, admin, known)
}

async fn invite(installation: &Installation, admin: &Person, email: &str) -> Reply {
    let body = json!({"email": email, "name": "Whoever", "role": "approver"});
    installation.tell(&admin.token, "POST", USERS, &body).await
}

async fn received(installation: &Installation, person: &Person) -> Vec<Value> {
    installation.get(person, RECEIVED).await["invitations"].as_array().unwrap().clone()
}

/// An invitation without the fields in which any two differ.
fn without_unique_fields(mut invitation: Value) -> Value {
    for field in ["id", "email", "created_at", "expires_at"] {
        assert!(invitation.as_object_mut().unwrap().remove(field).is_some(), "{field}");
    }
    invitation
}

async fn actions(installation: &Installation, account: &AccountId) -> Vec<(String, String)> {
    let mut reading = installation.store.read().await.unwrap();
    let entries = reading.audit(account, None, i64::MAX, 50).await.unwrap();
    entries.into_iter().map(|entry| (entry.action, entry.target)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_account_learns_nothing_about_an_invited_person() {
    let (installation, admin, _known) = world().await;
    let known = invite(&installation, &admin, "Known@example.com").await.expect(201);
    let unknown = invite(&installation, &admin, "unknown@example.com").await.expect(201);
    for (added, email) in [(&known, "known@example.com"), (&unknown, "unknown@example.com")] {
        assert_eq!(added["invitation"]["email"], email, "{added}");
        assert_eq!(added["one_time_password"], Value::Null, "{added}");
        assert!(added.get("user").is_none(), "{added}");
    }
    assert_eq!(
        without_unique_fields(known["invitation"].clone()),
        without_unique_fields(unknown["invitation"].clone())
    );
    let listed = installation.get(&admin, SENT).await["invitations"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 2);
    assert_eq!(without_unique_fields(listed[0].clone()), without_unique_fields(listed[1].clone()));
    let members = installation.get(&admin, USERS).await.to_string();
    assert!(!members.contains("known@example.com"), "{members}");
    // A second invitation reveals no more.
    let again = invite(&installation, &admin, "known@example.com").await.expect(201);
    assert_eq!(again["invitation"]["id"], known["invitation"]["id"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invited_person_joins_the_account_only_by_accepting() {
    let (installation, admin, known) = world().await;
    let other = installation.person(&known.account, Role::Admin).await;
    let id = invite(&installation, &admin, "known@example.com").await.expect(201)["invitation"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let there = installation.session(&known.id, &installation.account).await;
    assert_eq!(installation.ask(&there, "GET", "/api/v1/auth/me").await.status, 401, "not yet");
    let seen = received(&installation, &known).await;
    assert_eq!((&seen[0]["account"], &seen[0]["role"]), (&json!("acme"), &json!("approver")), "{seen:?}");
    assert_eq!(seen[0]["invited_by"], admin.email);
    assert!(received(&installation, &other).await.is_empty());

    let accept = format!("{RECEIVED}/{id}/accept");
    assert_eq!(installation.ask(&other.token, "POST", &accept).await.status, 404, "it is not theirs");
    let token = installation.api_token(&known, &ALL, Life::Good).await;
    assert_eq!(
        installation.ask(&token.secret, "POST", &accept).await.status,
        403,
        "a token does not consent"
    );
    let joined = installation.ask(&known.token, "POST", &accept).await.expect(200);
    assert_eq!(joined, json!({"account": "acme", "role": "approver"}));
    let me = installation.ask(&there, "GET", "/api/v1/auth/me").await.expect(200);
    assert_eq!(me["role"], "approver");
    assert_eq!(installation.ask(&known.token, "POST", &accept).await.status, 404, "it counts once");
    assert_eq!(installation.get(&admin, SENT).await["invitations"], json!([]));
    let actions = actions(&installation, &installation.account).await;
    for action in ["invitation.create", "invitation.accept"] {
        assert!(actions.contains(&(action.to_owned(), "known@example.com".to_owned())), "{actions:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn declining_looks_like_silence_and_is_on_the_installations_record() {
    let (installation, admin, known) = world().await;
    let made = invite(&installation, &admin, "known@example.com").await.expect(201);
    let id = made["invitation"]["id"].as_str().unwrap();
    let before = installation.get(&admin, SENT).await;
    let record = actions(&installation, &installation.account).await;
    installation.ask(&known.token, "POST", &format!("{RECEIVED}/{id}/decline")).await.expect(204);
    assert!(received(&installation, &known).await.is_empty());
    assert_eq!(installation.get(&admin, SENT).await, before);
    assert_eq!(actions(&installation, &installation.account).await, record);
    let declined = ("invitation.decline".to_owned(), "known@example.com".to_owned());
    assert!(actions(&installation, &AccountId::installation()).await.contains(&declined));
    invite(&installation, &admin, "known@example.com").await.expect(201);
    assert!(received(&installation, &known).await.is_empty(), "asking again does not help");
    let accept = format!("{RECEIVED}/{id}/accept");
    assert_eq!(installation.ask(&known.token, "POST", &accept).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_falls_when_it_expires_is_revoked_or_its_maker_may_invite_no_more() {
    let (installation, admin, known) = world().await;
    let late = Invitation {
        id: new_id(),
        account_id: installation.account.clone(),
        email: known.email.clone(),
        role: Role::Admin,
        invited_by: admin.id.clone(),
        created_at: now().minus(Duration::from_secs(100)),
        expires_at: now().minus(Duration::from_secs(1)),
        declined_at: None,
    };
    let mut writing = installation.store.write().await.unwrap();
    writing.invitation_put(&late).await.unwrap();
    writing.commit().await.unwrap();
    assert!(received(&installation, &known).await.is_empty());
    let accept = |id: &str| format!("{RECEIVED}/{id}/accept");
    assert_eq!(installation.ask(&known.token, "POST", &accept(late.id.as_str())).await.status, 404);

    let made = invite(&installation, &admin, &known.email).await.expect(201);
    let id = made["invitation"]["id"].as_str().unwrap();
    let second = installation.admin().await;
    let demoted = json!({"role": "viewer"});
    let path = format!("{USERS}/{}", admin.id);
    installation.tell(&second.token, "PATCH", &path, &demoted).await.expect(200);
    let void = installation.ask(&known.token, "POST", &accept(id)).await;
    assert_eq!((void.status, void.code().as_str()), (409, "invitation-void"), "{void:?}");
    installation.ask(&second.token, "DELETE", &format!("{SENT}/{id}")).await.expect(204);
    assert_eq!(installation.ask(&known.token, "POST", &accept(id)).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_a_provider_did_not_verify_receives_no_invitation() {
    let (installation, admin, known) = world().await;
    invite(&installation, &admin, &known.email).await.expect(201);
    let mut writing = installation.store.write().await.unwrap();
    writing.identity_add("https://id.example.com", "1", &known.id, now()).await.unwrap();
    writing.commit().await.unwrap();
    assert!(received(&installation, &known).await.is_empty());
    let mut writing = installation.store.write().await.unwrap();
    writing.identity_set_verified("https://id.example.com", "1", true).await.unwrap();
    writing.commit().await.unwrap();
    assert_eq!(received(&installation, &known).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_administers_the_installation_makes_new_people_and_still_asks_those_of_other_accounts() {
    let (installation, _admin, _known) = world().await;
    let root = installation.root().await;
    let new = invite(&installation, &root, "new@example.com").await.expect(201);
    assert!(new["one_time_password"].is_string() && new["user"]["email"] == "new@example.com", "{new}");
    let known = invite(&installation, &root, "known@example.com").await.expect(201);
    assert!(known.get("user").is_none() && known["invitation"].is_object(), "{known}");
}
