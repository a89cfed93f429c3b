//! Single sign-on with a forging provider: an invalid token signs nobody in, and is in the audit log.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use windlass_core::id::AccountId;
use windlass_server::{Config, OidcSettings};

use crate::browser::Browser;
use crate::harness::{Installation, Reply, config};
use crate::token_forger::{CLIENT, Forger, Signed, word};

/// An installation with this provider; members of `ops` are operators.
async fn installation(issuer: &str) -> Installation {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.oidc = Some(settings(issuer));
    Installation::start_with(directory, config).await
}

fn settings(issuer: &str) -> OidcSettings {
    let mut settings = OidcSettings::new(issuer, CLIENT);
    settings.name = "Acme".to_owned();
    settings.grants = vec!["ops=operator".parse().unwrap()];
    settings
}

async fn begin(browser: &mut Browser<'_>) -> String {
    let reply = browser.get("/app/sign-in/oidc?next=/app/runs").await;
    assert_eq!(reply.status, 303, "{reply:?}");
    reply.header("location").to_owned()
}

async fn come_back(browser: &mut Browser<'_>, query: &str) -> Reply {
    let reply = browser.get(&format!("/app/sign-in/oidc/callback?{query}")).await;
    assert!(!browser.cookies.contains_key("windlass_attempt"), "it is taken away whatever happens");
    reply
}

/// A complete sign-in.
async fn sign_in(browser: &mut Browser<'_>, forger: &Forger) -> Reply {
    let location = begin(browser).await;
    let code = forger.code_for(&location);
    come_back(browser, &format!("code={code}&state={}", word(&location, "state"))).await
}

fn is_in(browser: &Browser<'_>) -> bool {
    browser.cookies.contains_key("windlass_session")
}

const PROVES_NOTHING: &str = "ID token is invalid";

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_id_token_signs_nobody_in() {
    let forger = Forger::start();
    let installation = installation(&forger.issuer).await;
    let claims: [Value; 8] = [
        json!({"nonce": "another"}),
        json!({"nonce": null}),
        json!({"aud": "another"}),
        json!({"aud": [CLIENT, "another"]}),
        json!({"azp": "another"}),
        json!({"iss": "https://evil.example.com"}),
        json!({"exp": 1}),
        json!({"exp": null}),
    ];
    let signed = [Signed::Not, Signed::WithPublicHalf(0), Signed::InTheNameOf(1, 0), Signed::By(1)];
    let cases = claims.into_iter().map(|claims| (claims, Signed::By(0)));
    let cases = cases.chain(signed.map(|signed| (json!({}), signed)));
    for (claims, signed) in cases {
        let told = format!("{claims} {signed:?}");
        forger.forgery().claims = claims;
        forger.forgery().signed = signed;
        let mut browser = Browser::new(&installation);
        let reply = sign_in(&mut browser, &forger).await;
        assert_eq!(reply.status, 403, "{told}: {reply:?}");
        assert!(reply.text.contains(PROVES_NOTHING) && !is_in(&browser), "{told}: {reply:?}");
    }
    forger.forgery().claims = json!({});
    forger.forgery().signed = Signed::By(0);
    let mut browser = Browser::new(&installation);
    let reply = sign_in(&mut browser, &forger).await;
    assert!(reply.status == 200 && is_in(&browser), "the same that tells the truth is let in: {reply:?}");
    let log = installation
        .store
        .read()
        .await
        .unwrap()
        .audit(&AccountId::installation(), None, i64::MAX, 100)
        .await
        .unwrap();
    let refused = log.iter().filter(|entry| entry.detail.contains("sso-token")).count();
    assert_eq!(refused, 12, "{log:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_response_is_accepted_once_and_only_in_the_browser_that_started() {
    let forger = Forger::start();
    let installation = installation(&forger.issuer).await;
    let mut browser = Browser::new(&installation);
    let location = begin(&mut browser).await;
    assert_eq!(word(&location, "response_type"), "code");
    let state = word(&location, "state");
    let foreign = "the response belongs to another sign-in";
    let not_under_way = "no sign-in is under way in this browser";
    let kept = browser.cookies.clone();
    let code = forger.code_for(&location);
    for (query, told) in [
        (format!("code={code}&state=other"), foreign),
        (format!("code={code}"), foreign),
        (format!("code={code}&state={state}&state={state}"), foreign),
        (format!("code={code}&state={state}&iss=https%3A%2F%2Fevil.example.com"), foreign),
        (format!("state={state}"), foreign),
        (format!("error=access_denied&error_description=<script>&state={state}"), "refused the sign-in"),
    ] {
        browser.cookies.clone_from(&kept);
        let reply = come_back(&mut browser, &query).await;
        assert_eq!(reply.status, 403, "{query}: {reply:?}");
        assert!(reply.text.contains(told) && !reply.text.contains("<script>"), "{query}: {reply:?}");
    }
    let mut other = Browser::new(&installation);
    let reply = come_back(&mut other, &format!("code={code}&state={state}")).await;
    assert!(reply.text.contains(not_under_way) && !is_in(&other), "{reply:?}");
    other.cookies.insert("windlass_attempt".to_owned(), format!("{}x", kept["windlass_attempt"]));
    let reply = come_back(&mut other, &format!("code={code}&state={state}")).await;
    assert!(reply.text.contains(not_under_way) && !is_in(&other), "{reply:?}");

    browser.cookies.clone_from(&kept);
    let good =
        format!("code={code}&state={state}&iss={}", forger.issuer.replace(':', "%3A").replace('/', "%2F"));
    assert_eq!(come_back(&mut browser, &good).await.status, 200);
    assert!(is_in(&browser));
    let again = come_back(&mut Browser::new(&installation), &good).await;
    assert!(again.text.contains(not_under_way), "{again:?}");
    let mut thief = Browser::new(&installation);
    thief.cookies.clone_from(&kept);
    let again = come_back(&mut thief, &good).await;
    assert!(again.text.contains("no longer accepts this sign-in") && !is_in(&thief), "{again:?}");
    assert!(!again.text.contains("alert(1)"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_code_of_another_sign_in_is_good_for_nothing() {
    let forger = Forger::start();
    let installation = installation(&forger.issuer).await;
    let stolen = forger.code_for(&begin(&mut Browser::new(&installation)).await);
    let mut browser = Browser::new(&installation);
    let location = begin(&mut browser).await;
    let reply = come_back(&mut browser, &format!("code={stolen}&state={}", word(&location, "state"))).await;
    assert_eq!(reply.status, 403, "the verifier is another: {reply:?}");
    assert!(!is_in(&browser));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_key_is_found_and_unknown_ones_are_not_looked_for_again_and_again() {
    let forger = Forger::start();
    let installation = installation(&forger.issuer).await;
    assert_eq!(sign_in(&mut Browser::new(&installation), &forger).await.status, 200);
    forger.forgery().listed = vec![1];
    forger.forgery().signed = Signed::By(1);
    assert_eq!(sign_in(&mut Browser::new(&installation), &forger).await.status, 200);
    forger.forgery().signed = Signed::By(0);
    for _ in 0..3 {
        assert_eq!(sign_in(&mut Browser::new(&installation), &forger).await.status, 403);
    }
    let fetched = forger.forgery().asked.iter().filter(|asked| asked.starts_with("/jwks")).count();
    assert_eq!(fetched, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_calls_itself_otherwise_is_not_believed() {
    let evil = "https://evil.example.com";
    for (document, told) in [
        (json!({"issuer": evil}), "sent an invalid response"),
        (json!({"token_endpoint": "http://evil.example.com/token"}), "sent an invalid response"),
        (json!({"jwks_uri": null}), "sent an invalid response"),
        (json!({"authorization_response_iss_parameter_supported": true}), "belongs to another sign-in"),
    ] {
        let forger = Forger::start();
        let installation = installation(&forger.issuer).await;
        forger.forgery().document = document.clone();
        let mut browser = Browser::new(&installation);
        let begun = browser.get("/app/sign-in/oidc").await;
        let reply = match begun.status {
            303 => {
                let location = begun.header("location").to_owned();
                let code = forger.code_for(&location);
                come_back(&mut browser, &format!("code={code}&state={}", word(&location, "state"))).await
            }
            _ => begun,
        };
        assert!(reply.text.contains(told) && !is_in(&browser), "{document}: {reply:?}");
        assert!(!reply.text.contains("evil.example.com"), "{document}: {reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hostile_claims_are_rejected_with_a_reason() {
    let forger = Forger::start();
    let installation = installation(&forger.issuer).await;
    let many: Vec<String> = (0..3000).map(|n| format!("group-{n}")).collect();
    let groups = "sends your groups in an unusable form";
    for (claims, told) in [
        (json!({"sub": ""}), "does not send your identity"),
        (json!({"sub": null}), "ID token is invalid"),
        (json!({"sub": "a\u{0}"}), "does not send your identity"),
        (json!({"email": null}), "does not send your e-mail address"),
        (json!({"email": ""}), "does not send your e-mail address"),
        (json!({"email": "nobody"}), "sends no usable e-mail address"),
        (json!({"groups": {"ops": true}}), groups),
        (json!({"groups": [["ops"]]}), groups),
        (json!({"groups": many}), groups),
        (json!({"groups": ["OPS", "ops "]}), "none of your groups grants a role here"),
        (json!({"groups": "<b>planted-group</b>"}), "none of your groups grants a role here"),
    ] {
        forger.forgery().claims = claims.clone();
        let mut browser = Browser::new(&installation);
        let reply = sign_in(&mut browser, &forger).await;
        assert_eq!(reply.status, 403, "{claims}: {reply:?}");
        assert!(reply.text.contains(told) && !is_in(&browser), "{claims}: {reply:?}");
        assert!(!reply.text.contains("planted-group"), "{reply:?}");
    }
    assert_eq!(
        installation.store.read().await.unwrap().users_count().await.unwrap(),
        1,
        "nobody was remembered"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_are_slowed_down() {
    let forger = Forger::start();
    let installation = installation(&forger.issuer).await;
    let mut last = None;
    for _ in 0..23 {
        last = Some(come_back(&mut Browser::new(&installation), "code=a&state=b").await);
    }
    let last = last.unwrap();
    assert_eq!(last.status, 429, "{last:?}");
    assert!(last.text.contains("too many failed sign-ins"), "{last:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_is_down_is_told_and_passwords_still_work() {
    let gone = format!("http://127.0.0.1:{}", windlass_testkit::servers::free_port());
    let installation = installation(&gone).await;
    let mut browser = Browser::new(&installation);
    let reply = browser.get("/app/sign-in/oidc").await;
    assert_eq!(reply.status, 503, "{reply:?}");
    assert!(reply.text.contains("the single sign-on provider does not respond"), "{reply:?}");
    assert!(
        reply.text.contains("name=\"password\"") && reply.text.contains("Sign in with Acme"),
        "{reply:?}"
    );
    let admin = installation.admin().await;
    let body = json!({"email": "bob@example.com", "role": "viewer"});
    let made = installation.tell(&admin.token, "POST", "/api/v1/auth/users", &body).await.expect(201);
    let once = made["one_time_password"].as_str().unwrap();
    let fields = [("email", "bob@example.com"), ("password", once), ("next", "/app")];
    let right = browser.submit(&reply.text, "/app/sign-in", &fields).await;
    assert_eq!(right.status, 303, "{right:?}");
    let text = installation.send(installation.request("GET", "/readyz")).await;
    assert_eq!(text.status, 200, "the server itself is well: {text:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_sent_to_another_site_by_a_sign_in() {
    let forger = Forger::start();
    let installation = installation(&forger.issuer).await;
    for (next, to) in [
        ("/app/approvals?q=a", "/app/approvals?q=a"),
        ("//evil.example", "/app"),
        ("https://evil.example", "/app"),
        ("/app/\\evil.example", "/app"),
        ("javascript:alert(1)", "/app"),
    ] {
        let mut browser = Browser::new(&installation);
        let next = crate::browser::encoded(&[("next", next)]);
        let location = browser.get(&format!("/app/sign-in/oidc?{next}")).await.header("location").to_owned();
        let code = forger.code_for(&location);
        let reply = come_back(&mut browser, &format!("code={code}&state={}", word(&location, "state"))).await;
        assert!(reply.text.contains(&format!("content=\"0;url={to}\"")), "{next}: {reply:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_passwords_are_off_only_who_administers_the_installation_has_one() {
    let forger = Forger::start();
    let directory = tempfile::tempdir().unwrap();
    let mut config: Config = config(directory.path());
    let mut only = settings(&forger.issuer);
    only.passwords = windlass_server::PasswordPolicy::RootOnly;
    config.oidc = Some(only);
    let running = windlass_server::start(config.clone()).await.unwrap();
    let root = running.first_login().unwrap().password.expose().clone();
    running.stop().await;
    let installation = Installation::start_with(directory, config).await;
    let mut browser = Browser::new(&installation);
    let page = browser.page("/app/sign-in").await;
    assert!(!page.contains("name=\"password\"") && page.contains("Sign in with Acme"), "{page}");
    let form = browser.page("/app/sign-in?password=yes").await;
    let admin = installation.admin().await;
    let body = json!({"email": "bob@example.com", "role": "viewer"});
    let made = installation.tell(&admin.token, "POST", "/api/v1/auth/users", &body).await.expect(201);
    let once = made["one_time_password"].as_str().unwrap();
    let refused = browser
        .submit(&form, "/app/sign-in", &[("email", "bob@example.com"), ("password", once), ("next", "/app")])
        .await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.text.contains("sign in through single sign-on"), "{refused:?}");
    let body = json!({"email": "bob@example.com", "password": once});
    let api = installation.send(installation.request("POST", "/api/v1/auth/login").json(&body)).await;
    assert_eq!((api.status, api.code().as_str()), (401, "login-refused"));
    let fields = [("email", "admin@localhost"), ("password", root.as_str()), ("next", "/app")];
    assert_eq!(browser.submit(&form, "/app/sign-in", &fields).await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_work_is_told_at_the_start() {
    for (change, told) in [
        (
            (|it| it.issuer = "http://id.example.com".to_owned()) as fn(&mut OidcSettings),
            "which others can read and change",
        ),
        (|it| it.issuer = "id.example.com".to_owned(), "not a valid provider address"),
        (|it| it.client_id = String::new(), "no client id"),
        (|it| it.client_secret_file = Some("/nonexistent/secret".into()), "client secret from"),
        (|it| it.grants = vec!["ops=admin@nowhere".parse().unwrap()], "`nowhere`, which does not exist"),
        (|it| it.ca_pem = Some("no certificate".to_owned()), "CA file contains no certificate"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let mut config = config(directory.path());
        let mut wrong = settings("https://id.example.com");
        change(&mut wrong);
        config.oidc = Some(wrong);
        let error = windlass_server::start(config).await.err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(told)), "{told}: {error:?}");
    }
}

/// The log of this process.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_of_a_sign_in_is_logged_and_the_groups_are_told_to_whoever_maps_them() {
    let log = Log::default();
    let writer = log.clone();
    let filter = tracing_subscriber::EnvFilter::new(
        "warn,access=info,windlass_server=trace,windlass_control=trace,windlass_oidc=trace,reqwest=debug,hyper_util=debug",
    );
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(move || writer.clone());
    subscriber.with_ansi(false).init();
    let forger = Forger::start();
    let directory = tempfile::tempdir().unwrap();
    let secret_file = directory.path().join("secret");
    std::fs::write(&secret_file, "planted-client-secret\n").unwrap();
    let mut config = config(directory.path());
    let mut settings = settings(&forger.issuer);
    settings.client_secret_file = Some(secret_file);
    config.oidc = Some(settings);
    let installation = Installation::start_with(directory, config).await;
    forger.forgery().document = json!({"token_endpoint_auth_methods_supported": ["client_secret_post"]});
    let mut browser = Browser::new(&installation);
    assert_eq!(sign_in(&mut browser, &forger).await.status, 200);
    let session = browser.cookies["windlass_session"].clone();
    forger.forgery().claims = json!({"sub": "subject-2", "email": "b@example.com", "groups": ["strangers"]});
    assert_eq!(sign_in(&mut Browser::new(&installation), &forger).await.status, 403);
    let asked: Vec<String> =
        forger.forgery().asked.iter().filter(|asked| asked.starts_with("/token")).cloned().collect();
    assert!(asked.iter().all(|asked| asked.contains("client_secret=planted-client-secret")), "{asked:?}");
    let verifier = word(&format!("?{}", asked[0]), "code_verifier");
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("groups grants a role") && logged.contains("strangers"), "{logged}");
    for secret in
        [session.as_str(), &verifier, "planted-client-secret", "planted-code", "planted-access-token"]
    {
        assert!(!secret.is_empty() && !logged.contains(secret), "{secret}: {logged}");
    }
}
