//! Signing in: the responses, the limits on attempts, and the end of a session.

use serde_json::{Value, json};
use windlass_api::permission::Role;
use windlass_core::inbound::address::AddressBlock;
use windlass_core::inbound::throttle::FailureSubject;

use crate::harness::{Installation, Person, Reply};

const LOGIN: &str = "/api/v1/auth/login";
const OWN: &str = "correct horse battery staple";

async fn login(installation: &Installation, email: &str, password: &str) -> Reply {
    let request = installation.request("POST", LOGIN).json(&json!({"email": email, "password": password}));
    installation.send(request).await
}

/// A person whom an admin added and who chose a password of their own.
async fn newcomer(installation: &Installation, admin: &Person, email: &str) {
    let body = json!({"email": email, "role": "operator"});
    let made = installation.tell(&admin.token, "POST", "/api/v1/auth/users", &body).await.expect(201);
    let password = made["one_time_password"].as_str().unwrap();
    let session = login(installation, email, password).await.expect(200);
    let token = session["token"].as_str().unwrap();
    let body = json!({"current_password": password, "new_password": OWN});
    installation.tell(token, "POST", "/api/v1/auth/password", &body).await.expect(204);
    assert_eq!(installation.ask(token, "GET", "/api/v1/auth/me").await.status, 401, "all sessions end");
    assert_eq!(login(installation, email, password).await.status, 401, "a one-time password works once");
    let session: Value = login(installation, email, OWN).await.expect(200);
    assert_eq!(session["me"]["role"], "operator");
    assert_eq!(session["me"]["must_change_password"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_chooses_a_password_and_signs_in_with_it() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    newcomer(&installation, &admin, "New.One@Example.com").await;
    login(&installation, "new.one@example.com", OWN).await.expect(200);
    let body = json!({"email": "new.one@example.com", "password": OWN, "account": "acme"});
    installation.tell("", "POST", LOGIN, &body).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_let_in_learns_nothing() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    newcomer(&installation, &admin, "known@example.com").await;
    let account = installation.new_account("bravo").await;
    installation.person(&account, Role::Admin).await;
    let wrong = login(&installation, "known@example.com", "wrong password here").await;
    let unknown = login(&installation, "unknown@example.com", "wrong password here").await;
    assert_eq!((wrong.status, wrong.without_request()), (401, unknown.without_request()));
    let send = async |account: &str| {
        let body = json!({"email": "known@example.com", "password": OWN, "account": account});
        installation.tell("", "POST", LOGIN, &body).await
    };
    let (foreign, absent) = (send("bravo").await, send("absent").await);
    assert_eq!((foreign.status, foreign.without_request()), (401, absent.without_request()));
    assert_eq!(foreign.without_request(), wrong.without_request());
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_failures_need_patience_that_outlives_a_restart_and_ends_with_success() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    newcomer(&installation, &admin, "ada@example.com").await;
    for _ in 0..4 {
        assert_eq!(login(&installation, "ada@example.com", "wrong").await.status, 401);
    }
    login(&installation, "ada@example.com", OWN).await.expect(200);
    let mut last = login(&installation, "ada@example.com", "wrong").await;
    let mut tries = 1;
    while last.status != 429 {
        assert_eq!(last.status, 401, "{last:?}");
        assert!(tries < 30, "success began the count anew, failure did not end it");
        last = login(&installation, "ada@example.com", "wrong").await;
        tries += 1;
    }
    assert!(tries > 5, "{tries}: success clears what was counted");
    assert_eq!(last.code(), "throttled");
    assert!(last.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(login(&installation, "ADA@example.com ", OWN).await.status, 429, "spelling does not matter");
    // Long enough that no slow machine waits it out.
    let ada = FailureSubject::PersonAt("ada@example.com", AddressBlock::of_text("127.0.0.1"));
    let later = crate::harness::now().plus(std::time::Duration::from_secs(3600));
    let mut writing = installation.store.write().await.unwrap();
    for _ in 0..10 {
        writing.failure_add(&ada.key(), None, later).await.unwrap();
    }
    writing.commit().await.unwrap();
    let installation = installation.restart().await;
    let still = login(&installation, "ada@example.com", OWN).await;
    assert_eq!(still.status, 429, "{still:?}");
    let body = json!({"reset_password": true});
    let path = "/api/v1/auth/users/ada@example.com";
    let reset = installation.tell(&admin.token, "PATCH", path, &body).await.expect(200);
    let password = reset["one_time_password"].as_str().unwrap();
    login(&installation, "ada@example.com", password).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_tries_at_once_are_counted_one_by_one() {
    let installation = Installation::start().await;
    let mut asked = Vec::new();
    for _ in 0..30 {
        let body = json!({"email": "ada@example.com", "password": "wrong"});
        asked.push(tokio::spawn(installation.request("POST", LOGIN).json(&body).send()));
    }
    let mut looked_at = 0;
    for answer in asked {
        let status = answer.await.unwrap().unwrap().status().as_u16();
        assert!(status == 401 || status == 429, "{status}");
        looked_at += usize::from(status == 401);
    }
    assert!(looked_at < 15, "{looked_at}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_does_not_help_to_guess_the_password() {
    let installation = Installation::start().await;
    let person = installation.person(&installation.account, Role::Viewer).await;
    let body = json!({"current_password": "guess", "new_password": OWN});
    let mut statuses = Vec::new();
    for _ in 0..8 {
        statuses.push(installation.tell(&person.token, "POST", "/api/v1/auth/password", &body).await.status);
    }
    assert_eq!(statuses[0], 422);
    assert!(statuses.contains(&429), "{statuses:?}");
}
