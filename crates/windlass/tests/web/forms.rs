//! The server rejects forms that another site, another session or nobody sent.

use serde_json::Value;

use crate::browser::{Browser, csrf, encoded, fields};
use crate::harness::{FLEET, Installation, Person, fleet};

async fn refusals(installation: &Installation, admin: &Person) -> usize {
    let page = installation.get(admin, "/api/v1/system/audit?limit=500").await;
    let refused = |entry: &&Value| entry["outcome"] == "refused" && entry["action"] == "request";
    page["audit"].as_array().unwrap().iter().filter(refused).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_of_another_site_is_rejected_with_help_and_audited() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    installation.sync(&admin, &repository).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/approvals").await;
    let token = csrf(&page);
    let other = installation.admin().await;
    let other_token = csrf(&Browser::of(&installation, &other).page("/app").await);
    let pick = fields(&page, "pick").remove(0);
    let base = installation.base.clone();
    let port_of_another = "http://127.0.0.1:1";
    let cases: [(&str, &str, Option<&str>, Option<&str>); 9] = [
        ("no token", "", Some(&base), Some("same-origin")),
        ("a wrong token", "guess", Some(&base), Some("same-origin")),
        ("another session's token", &other_token, Some(&base), Some("same-origin")),
        ("another origin", &token, Some("https://evil.example"), None),
        ("another port", &token, Some(port_of_another), None),
        ("no origin to tell", &token, Some("null"), None),
        ("another site", &token, None, Some("cross-site")),
        ("a sister site", &token, Some(&base), Some("same-site")),
        ("an address typed in", &token, None, Some("none")),
    ];
    let count = cases.len();
    for (what, token, origin, site) in cases {
        let cookie = format!("windlass_session={}", admin.token);
        let mut request = installation.request("POST", "/app/approvals").header("cookie", cookie);
        if let Some(origin) = origin {
            request = request.header("origin", origin);
        }
        if let Some(site) = site {
            request = request.header("sec-fetch-site", site);
        }
        let body = encoded(&[("csrf", token), ("decision", "approve"), ("pick", &pick)]);
        let reply = installation.send(request.body(body)).await;
        assert_eq!(reply.status, 403, "{what}: {reply:?}");
        assert!(reply.header("content-type").starts_with("text/html"), "{what}: {reply:?}");
        assert!(reply.text.contains("reload the page and send the form again"), "{what}: {reply:?}");
    }
    let open = installation.get(&admin, "/api/v1/system/proposals?status=pending_approval").await;
    let known = fields(&page, "pick").len();
    assert_eq!(open["proposals"].as_array().unwrap().len(), known, "nothing was approved");
    assert_eq!(refusals(&installation, &admin).await, count);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sign_in_form_of_another_visit_is_refused() {
    let installation = Installation::start().await;
    let page = Browser::new(&installation).page("/app/sign-in").await;
    let token = csrf(&page);
    let form = [("csrf", token.as_str()), ("email", "admin@localhost"), ("password", "x")];
    let mut stranger = Browser::new(&installation);
    assert_eq!(stranger.post("/app/sign-in", &form).await.status, 403, "without the visit's cookie");
    stranger.page("/app/sign-in").await;
    let reply = stranger.post("/app/sign-in", &form).await;
    assert_eq!(reply.status, 403, "with another visit's cookie");
    assert!(reply.text.contains("nvalid or expired form"), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_form_with_nul_or_far_too_much_is_refused() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app").await;
    let nul = browser.submit(&page, "/app/approvals", &[("reason", "a\0b")]).await;
    assert_eq!(nul.status, 400, "{nul:?}");
    let large = "x".repeat(2 * 1024 * 1024);
    let reply = browser.submit(&page, "/app/approvals", &[("reason", &large)]).await;
    assert_eq!(reply.status, 413);
    assert!(reply.text.contains("the body is too large"), "{reply:?}");
}
