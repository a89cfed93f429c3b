//! Guessing passwords and tokens is slow, and nobody else is locked out.
//!
//! A trusted proxy stands for people at many addresses.

use serde_json::json;
use windlass_api::permission::{Permission, Role};
use windlass_core::inbound::address::AddressBlock;
use windlass_core::inbound::throttle::FailureSubject;
use windlass_server::{TrustedProxies, read_network};

use crate::harness::{Installation, Life, Reply, config};

const LOGIN: &str = "/api/v1/auth/login";
const OWN: &str = "correct horse battery staple";

async fn start() -> Installation {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.trusted_proxies = TrustedProxies::new(vec![read_network("127.0.0.1").unwrap()]);
    Installation::start_with(directory, config).await
}

async fn login(installation: &Installation, from: &str, email: &str, password: &str) -> Reply {
    let body = json!({"email": email, "password": password});
    let request = installation.request("POST", LOGIN).header("x-forwarded-for", from).json(&body);
    installation.send(request).await
}

/// A person with a password of their own, who signed in from an address.
async fn person(installation: &Installation, email: &str, from: &str) {
    let admin = installation.admin().await;
    let body = json!({"email": email, "role": "operator"});
    let made = installation.tell(&admin.token, "POST", "/api/v1/auth/users", &body).await.expect(201);
    let password = made["one_time_password"].as_str().unwrap();
    let session = login(installation, from, email, password).await.expect(200);
    let body = json!({"current_password": password, "new_password": OWN});
    let token = session["token"].as_str().unwrap();
    installation.tell(token, "POST", "/api/v1/auth/password", &body).await.expect(204);
    login(installation, from, email, OWN).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_sign_ins_of_others_never_lock_out_the_right_password() {
    let installation = start().await;
    person(&installation, "ada@example.com", "198.51.100.1").await;
    for stranger in 1..=6 {
        let from = format!("203.0.113.{stranger}");
        let mut tries = 0;
        while login(&installation, &from, "ada@example.com", "wrong").await.status != 429 {
            tries += 1;
            assert!(tries < 20, "{from} need not wait");
        }
    }
    let home = login(&installation, "198.51.100.1", "ada@example.com", OWN).await;
    assert_eq!(home.status, 200, "where she signed in before: {home:?}");
    let elsewhere = login(&installation, "198.51.100.2", "ada@example.com", OWN).await;
    assert_eq!(elsewhere.status, 200, "and where she never was: {elsewhere:?}");
    let stranger = FailureSubject::PersonAt("ada@example.com", AddressBlock::of_text("203.0.113.1"));
    let failures = installation.store.read().await.unwrap().failures(&stranger.key()).await.unwrap();
    assert!(
        failures.is_some_and(|failures| failures.count >= 5),
        "her success does not help whoever guesses"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_successful_sign_in_does_not_reset_the_count_of_its_address() {
    let installation = start().await;
    let from = "203.0.113.9";
    person(&installation, "mallory@example.com", from).await;
    let mut guesses = 0;
    loop {
        let guess = login(&installation, from, &format!("someone-{guesses}@example.com"), "wrong").await;
        if guess.status == 429 {
            assert!(guess.header("retry-after").parse::<u64>().unwrap() >= 1);
            break;
        }
        assert_eq!(guess.status, 401, "{guess:?}");
        guesses += 1;
        assert!(guesses < 60, "success begins the count of the address anew");
        if guesses % 4 == 0 {
            login(&installation, from, "mallory@example.com", OWN).await.expect(200);
        }
    }
    login(&installation, from, "mallory@example.com", OWN).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_addresses_of_one_ipv6_network_count_as_one() {
    let installation = start().await;
    let mut guesses = 0;
    loop {
        let from = format!("2001:db8:0:1::{guesses:x}");
        let status = login(&installation, &from, &format!("a{guesses}@example.com"), "wrong").await.status;
        if status == 429 {
            break;
        }
        guesses += 1;
        assert!(guesses < 60, "each address has a count of its own");
    }
    let other = login(&installation, "2001:db8:0:2::1", "b@example.com", "wrong").await;
    assert_eq!(other.status, 401, "{other:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_typed_does_not_make_the_counts_grow() {
    let installation = start().await;
    let long = "x".repeat(500_000);
    assert_eq!(login(&installation, "203.0.113.1", &long, "wrong").await.status, 401);
    let mut reading = installation.store.read().await.unwrap();
    assert_eq!(reading.failures_count().await.unwrap(), 3);
    let page = installation.store.file().map(std::fs::metadata).unwrap().unwrap().len();
    assert!(page < 2 * 1024 * 1024, "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_are_guessed_cost_patience_and_good_ones_work_beside_them() {
    let installation = start().await;
    let admin = installation.person(&installation.account, Role::Admin).await;
    let token = installation.api_token(&admin, &[Permission::GitopsRead], Life::Good).await;
    let path = "/api/v1/system/status";
    let request = |secret: &str, from: &str| {
        installation.request("GET", path).bearer_auth(secret).header("x-forwarded-for", from)
    };
    let mut refused = None;
    for round in 0..50 {
        let guesses: Vec<_> = (0..200)
            .map(|number| tokio::spawn(request(&format!("wlt_{round}-{number}"), "203.0.113.1").send()))
            .collect();
        for guess in guesses {
            let answer = guess.await.unwrap().unwrap();
            match answer.status().as_u16() {
                401 => {}
                _ => refused = Some(answer),
            }
        }
        if refused.is_some() {
            break;
        }
    }
    let refused = refused.expect("whoever guesses on and on is asked to wait");
    assert_eq!(refused.status().as_u16(), 429);
    assert!(refused.headers().contains_key("retry-after"));
    let ask = async |secret: &str, from: &str| installation.send(request(secret, from)).await.status;
    assert_eq!(ask(&token.secret, "203.0.113.1").await, 200, "the same address, a good token");
    assert_eq!(ask("wlt_guess", "203.0.113.2").await, 401, "another address");
}
