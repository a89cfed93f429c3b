//! Signing in and out, and the session cookie.

use serde_json::json;
use windlass_api::permission::Role;
use windlass_core::inbound::address::AddressBlock;
use windlass_core::inbound::throttle::FailureSubject;

use crate::browser::{Browser, csrf, field};
use crate::harness::{ALL, Installation, Life, Reply, config, now};

const PASSWORD: &str = "correct horse battery staple";

/// A person with a one-time password from an admin.
async fn newcomer(installation: &Installation) -> (String, String) {
    let admin = installation.admin().await;
    let body = json!({"email": "new@example.com", "role": "approver"});
    let made = installation.tell(&admin.token, "POST", "/api/v1/auth/users", &body).await.expect(201);
    ("new@example.com".to_owned(), made["one_time_password"].as_str().unwrap().to_owned())
}

async fn sign_in(browser: &mut Browser<'_>, email: &str, password: &str, next: &str) -> Reply {
    let page = browser.page("/app/sign-in").await;
    let fields = [("email", email), ("password", password), ("next", next), ("account", "")];
    browser.submit(&page, "/app/sign-in", &fields).await
}

#[tokio::test(flavor = "multi_thread")]
async fn failures_behind_the_same_address_do_not_block_a_known_browser() {
    let installation = Installation::start().await;
    let (email, once) = newcomer(&installation).await;
    let mut own = Browser::new(&installation);
    assert_eq!(sign_in(&mut own, &email, &once, "/app").await.status, 303);
    own.cookies.remove("windlass_session");
    let device = own.cookies["windlass_device"].clone();
    // Another user of the same address uses up all attempts.
    let neighbours = FailureSubject::PersonAt(&email, AddressBlock::of_text("127.0.0.1"));
    let mut writing = installation.store.write().await.unwrap();
    for _ in 0..100 {
        writing.failure_add(&neighbours.key(), None, now()).await.unwrap();
    }
    writing.commit().await.unwrap();
    assert_eq!(sign_in(&mut Browser::new(&installation), &email, &once, "/app").await.status, 429);
    // A forged cookie, or that of another person, has no effect.
    let root = installation.root().await;
    for text in [format!("{device}x"), device.replacen('.', ".e30", 1), root.token] {
        let mut forger = Browser::new(&installation);
        forger.cookies.insert("windlass_device".to_owned(), text);
        assert_eq!(sign_in(&mut forger, &email, &once, "/app").await.status, 429);
    }
    let stranger = sign_in(&mut own, "someone@example.com", "guess", "/app").await;
    assert_eq!(stranger.status, 403, "for others, the device is none: they are counted as anybody");
    assert_eq!(sign_in(&mut own, &email, &once, "/app").await.status, 303);
    // The cookie alone signs nobody in.
    let mut alone = Browser::new(&installation);
    alone.cookies.insert("windlass_session".to_owned(), device.clone());
    alone.cookies.insert("windlass_device".to_owned(), device);
    assert_eq!(alone.get("/app").await.status, 303);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_sign_in_leads_over_a_password_of_ones_own_to_where_one_wanted_to_go() {
    let installation = Installation::start().await;
    let (email, once) = newcomer(&installation).await;
    let mut browser = Browser::new(&installation);
    let asked = browser.get("/app/approvals?kind=node").await;
    assert_eq!(
        (asked.status, asked.header("location")),
        (303, "/app/sign-in?next=%2Fapp%2Fapprovals%3Fkind%3Dnode")
    );
    let form = browser.page(asked.header("location")).await;
    assert_eq!(field(&form, "next"), "/app/approvals?kind=node");
    let wrong = sign_in(&mut browser, &email, "wrong", "/app").await;
    assert_eq!(wrong.status, 403);
    assert!(wrong.text.contains("the e-mail address, the password or the account is wrong"), "{wrong:?}");
    assert!(wrong.text.contains("value=\"new@example.com\"") && !wrong.text.contains("value=\"wrong\""));
    let right = sign_in(&mut browser, &email, &once, "/app/approvals?kind=node").await;
    assert_eq!((right.status, right.header("location")), (303, "/app/approvals?kind=node"));
    for path in ["/app", "/app/approvals", "/app/repositories", "/app/live"] {
        let early = browser.get(path).await;
        assert_eq!((early.status, early.header("location")), (303, "/app/password"), "{path}");
    }
    let page = browser.page("/app/password").await;
    let fields = |new: &'static str, again: &'static str| {
        [("current_password", once.clone()), ("new_password", new.to_owned()), ("again", again.to_owned())]
    };
    for (new, again, told) in
        [("short", "short", "at least 12"), (PASSWORD, "another one here", "do not match")]
    {
        let fields = fields(new, again);
        let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let refused = browser.submit(&page, "/app/password", &fields).await;
        assert!(refused.status == 422 && refused.text.contains(told), "{refused:?}");
    }
    let good = fields(PASSWORD, PASSWORD);
    let good: Vec<(&str, &str)> = good.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let overview = browser.submit_and_follow(&page, "/app/password", &good).await;
    assert!(overview.contains("Overview") && !overview.contains(PASSWORD), "{overview}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cookie_is_kept_from_scripts_and_other_sites_and_behind_https_from_everything_else() {
    let installation = Installation::start().await;
    let (email, once) = newcomer(&installation).await;
    let cookie = |reply: &Reply| {
        let all: Vec<String> =
            reply.headers.get_all("set-cookie").iter().map(|it| it.to_str().unwrap().to_owned()).collect();
        all.iter().find(|it| it.contains("windlass_session=")).cloned().unwrap_or_else(|| panic!("{all:?}"))
    };
    let mut browser = Browser::new(&installation);
    let plain = cookie(&sign_in(&mut browser, &email, &once, "/app").await);
    assert!(plain.starts_with("windlass_session="), "{plain}");
    for word in ["; Path=/;", "; HttpOnly", "; SameSite=Strict", "; Max-Age="] {
        assert!(plain.contains(word), "{plain}");
    }
    assert!(!plain.contains("Secure") && !plain.contains("Domain"), "{plain}");

    let directory = tempfile::tempdir().unwrap();
    let mut secure = config(directory.path());
    secure.control.public_url = Some("https://windlass.example.com".to_owned());
    let installation = Installation::start_with(directory, secure).await;
    let (email, once) = newcomer(&installation).await;
    let mut browser = Browser::new(&installation);
    let page = browser.page("/app/sign-in").await;
    let token = csrf(&page);
    let fields = [("csrf", token.as_str()), ("email", &email), ("password", &once), ("next", "/app")];
    let request = browser
        .request("POST", "/app/sign-in")
        .header("host", "windlass.example.com")
        .body(crate::browser::encoded(&fields));
    let reply = browser.send(request).await;
    assert_eq!(reply.status, 403, "another origin than the public one: {reply:?}");
    let http = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
    let cookies: Vec<String> =
        browser.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let request = http
        .post(format!("{}/app/sign-in", installation.base))
        .header("origin", "https://windlass.example.com")
        .header("cookie", cookies.join("; "))
        .body(crate::browser::encoded(&fields));
    let protected = cookie(&installation.send(request).await);
    assert!(protected.starts_with("__Host-windlass_session="), "{protected}");
    assert!(protected.contains("; Secure") && protected.contains("; Path=/;"), "{protected}");
}

#[tokio::test(flavor = "multi_thread")]
async fn signing_out_ends_the_session_everywhere() {
    let installation = Installation::start().await;
    let person = installation.person(&installation.account, Role::Viewer).await;
    let mut browser = Browser::of(&installation, &person);
    let page = browser.page("/app").await;
    assert_eq!(installation.ask(&person.token, "GET", "/api/v1/auth/me").await.status, 200);
    let out = browser.submit(&page, "/app/sign-out", &[]).await;
    assert_eq!((out.status, out.header("location")), (303, "/app/sign-in"));
    assert!(!browser.cookies.contains_key("windlass_session"));
    assert_eq!(installation.ask(&person.token, "GET", "/api/v1/auth/me").await.status, 401);
    let mut stale = Browser::of(&installation, &person);
    let asked = stale.get("/app").await;
    assert_eq!((asked.status, asked.header("location")), (303, "/app/sign-in?next=%2Fapp"));
    assert!(
        !stale.cookies.contains_key("windlass_session"),
        "a cookie that is good for nothing is taken away"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_open_only_to_sessions_and_the_api_never_looks_at_cookies() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let token = installation.api_token(&admin, &ALL, Life::Good).await;
    let mut browser = Browser::new(&installation);
    let with_header = browser.request("GET", "/app").bearer_auth(&admin.token);
    assert_eq!(browser.send(with_header).await.status, 303);
    browser.cookies.insert("windlass_session".to_owned(), token.secret);
    assert_eq!(browser.get("/app").await.status, 303, "an API token is not a session");
    let mut signed_in = Browser::of(&installation, &admin);
    assert_eq!(signed_in.get("/api/v1/auth/me").await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_on_another_site_arrives_although_the_cookie_is_strict() {
    let installation = Installation::start().await;
    let mut browser = Browser::new(&installation);
    let path = "/app/approvals?q=a&kind=node";
    let from_elsewhere = browser
        .request("GET", path)
        .header("sec-fetch-site", "cross-site")
        .header("sec-fetch-mode", "navigate");
    let bounce = browser.send(from_elsewhere).await;
    assert_eq!(bounce.status, 200);
    assert!(
        bounce.text.contains("http-equiv=\"refresh\" content=\"0;url=/app/approvals?q=a&amp;kind=node\""),
        "{bounce:?}"
    );
    let again = browser.request("GET", path).header("sec-fetch-site", "same-origin");
    assert_eq!(browser.send(again).await.status, 303, "the second time there is no cookie either");
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_sent_to_another_site_after_signing_in() {
    let installation = Installation::start().await;
    let (email, once) = newcomer(&installation).await;
    for next in [
        "//evil.example",
        "https://evil.example",
        "/app/\\evil.example",
        "/application",
        "javascript:alert(1)",
    ] {
        let mut browser = Browser::new(&installation);
        let reply = sign_in(&mut browser, &email, &once, next).await;
        assert_eq!((reply.status, reply.header("location")), (303, "/app"), "{next}");
        let form = Browser::new(&installation).page(&format!("/app/sign-in?next={next}")).await;
        assert_eq!(field(&form, "next"), "/app", "{next}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn guessing_is_slowed_down_and_says_so() {
    let installation = Installation::start().await;
    let mut browser = Browser::new(&installation);
    let mut last = None;
    for _ in 0..8 {
        last = Some(sign_in(&mut browser, "someone@example.com", "guess", "/app").await);
    }
    let last = last.unwrap();
    assert_eq!(last.status, 429, "{last:?}");
    assert!(last.text.contains("too many failed sign-ins"), "{last:?}");
}
