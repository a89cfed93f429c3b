//! How pages are sent: security headers, caching, and missing pages.

use serde_json::json;
use windlass_api::endpoint::Method;
use windlass_core::rollout::RolloutNodeState;
use windlass_web::table::{Page, pages};

use crate::browser::{Browser, last_event};
use crate::harness::{FLEET, Installation, Person, fleet};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

#[tokio::test(flavor = "multi_thread")]
async fn every_page_forbids_foreign_and_inline_script_and_frames_and_is_not_kept() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.make_cluster(&admin, "made").await.expect(201);
    let template = json!({"name": "made", "node_platform": "debian-12-amd64"});
    installation.tell(&admin.token, "POST", "/api/v1/system/node_templates", &template).await.expect(201);
    let node = json!({"hostname": "made", "template": "made"});
    installation.tell(&admin.token, "POST", "/api/v1/system/nodes", &node).await.expect(201);
    let preview = preview(&installation, &admin, &repository).await;
    let nodes = [("edge-01", RolloutNodeState::Failed), ("edge-02", RolloutNodeState::Waiting)];
    let rollout = installation.store_rollout(&installation.account, &nodes).await;
    let mut browser = Browser::of(&installation, &admin);
    for entry in pages().iter().filter(|entry| entry.method == Method::Get) {
        // The two of single sign-on redirect, or do not exist.
        if matches!(entry.page, Page::Root | Page::Asset | Page::Live | Page::SsoBegin | Page::SsoEnd) {
            continue;
        }
        let id = match entry.page {
            Page::Run => run["id"].as_str().unwrap(),
            Page::Preview => preview.as_str(),
            Page::Rollout => rollout.as_str(),
            Page::Repository | Page::ConfigureForm | Page::Tested | Page::Webhook => repository.as_str(),
            _ => run["proposals"][0]["id"].as_str().unwrap(),
        };
        let path = entry.path.replace("{id}", id).replace("{*rest}", "nowhere");
        let path = path.replace("{kind}", "cluster").replace("{name}", "made").replace("{network}", "fabric");
        let reply = browser.get(&path).await;
        let expected = if entry.page == Page::Lost { 404 } else { 200 };
        assert_eq!(reply.status, expected, "{path}: {reply:?}");
        for (name, value) in [
            ("content-type", "text/html; charset=utf-8"),
            ("content-security-policy", POLICY),
            ("x-frame-options", "DENY"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "no-store"),
            ("referrer-policy", "same-origin"),
        ] {
            assert_eq!(reply.header(name), value, "{path}: {name}");
        }
        let scripts: Vec<&str> = reply.text.split("<script").skip(1).collect();
        assert!(scripts.iter().all(|script| script.starts_with(" src=\"/app/assets/")), "{path}");
        assert!(!reply.text.contains("<style") && !reply.text.contains(" style="), "{path}");
        assert!(
            reply.text.starts_with("<!doctype html>") && reply.text.contains("<html lang=\"en\""),
            "{path}"
        );
    }
}

/// A preview of a repository's own branch.
async fn preview(installation: &Installation, person: &Person, repository: &str) -> String {
    let path = format!("/api/v1/system/gitops_repositories/{repository}/previews");
    let made = installation.tell(&person.token, "POST", &path, &json!({"ref": "main"})).await.expect(201);
    made["preview"]["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preview_shows_what_would_change_and_that_nothing_was_proposed() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let preview = preview(&installation, &admin, &repository).await;
    let mut browser = Browser::of(&installation, &admin);
    let listed = browser.page(&format!("/app/repositories/{repository}")).await;
    assert!(listed.contains(&format!("/app/previews/{preview}")), "{listed}");
    let page = browser.page(&format!("/app/previews/{preview}")).await;
    for text in ["Preview of main", "Nothing was proposed", "Needs approval", "edge-01", "by kind"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    assert!(!page.contains("<form method=\"post\" action=\"/app/proposals"));
}

#[tokio::test(flavor = "multi_thread")]
async fn assets_are_kept_for_ever_because_their_address_changes_with_them() {
    let installation = Installation::start().await;
    let mut browser = Browser::new(&installation);
    let page = browser.page("/app/sign-in").await;
    let urls: Vec<String> =
        page.split('"').filter(|part| part.starts_with("/app/assets/")).map(str::to_owned).collect();
    assert_eq!(urls.len(), 3, "{urls:?}");
    for url in urls {
        let reply = browser.get(&url).await;
        assert_eq!(reply.status, 200, "{url}");
        assert_eq!(reply.header("cache-control"), "public, max-age=31536000, immutable", "{url}");
        assert!(!reply.header("content-type").is_empty() && !reply.text.is_empty(), "{url}");
    }
    assert_eq!(browser.get("/app/assets/windlass-0000000000000000.css").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_there_and_what_is_in_another_account_look_alike() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let elsewhere = installation.new_account("elsewhere").await;
    let stranger = installation.person(&elsewhere, windlass_api::permission::Role::Admin).await;
    let mut browser = Browser::of(&installation, &stranger);
    let without_request = |page: String| page.split("Request <code>").next().unwrap().to_owned();
    let preview = serde_json::Value::from(preview(&installation, &admin, &repository).await);
    let repository = serde_json::Value::from(repository);
    for (place, id) in [
        ("proposals", &run["proposals"][0]["id"]),
        ("runs", &run["id"]),
        ("repositories", &repository),
        ("previews", &preview),
    ] {
        let theirs = browser.get(&format!("/app/{place}/{}", id.as_str().unwrap())).await;
        let absent = browser.get(&format!("/app/{place}/01a1e292-0000-7000-8000-000000000000")).await;
        assert_eq!((theirs.status, absent.status), (404, 404));
        assert_eq!(without_request(theirs.text), without_request(absent.text));
    }
    assert!(!browser.page("/app/approvals").await.contains("edge-01"));
    assert!(!browser.page("/app").await.contains("edge-base"));
}

#[tokio::test(flavor = "multi_thread")]
async fn empty_places_say_what_to_do_next() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    for (path, told) in [
        ("/app", "windlass repo add"),
        ("/app/approvals", "You're all caught up"),
        ("/app/approvals?q=nothing", "No matching changes"),
        ("/app/repositories", "windlass repo add"),
        ("/app/runs", "windlass sync"),
        ("/app/settings/tokens", "windlass token create"),
        ("/app/settings/notifications", "windlass explain notification_providers"),
        ("/app/resources", "windlass repo add"),
        ("/app/drift", "windlass repo add"),
        ("/app/topology", "windlass explain network"),
        ("/app/events", "windlass events --follow"),
        ("/app/events?q=nothing", "No event matches"),
        ("/app/audit?target=node/none", "No entries for node/none"),
    ] {
        assert!(browser.page(path).await.contains(told), "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_theme_is_in_the_page_before_any_script_runs() {
    let installation = Installation::start().await;
    let mut browser = Browser::new(&installation);
    assert!(browser.page("/app/sign-in").await.contains("data-theme=\"system\""));
    browser.cookies.insert("windlass_theme".to_owned(), "dark".to_owned());
    assert!(browser.page("/app/sign-in").await.contains("data-theme=\"dark\""));
    browser.cookies.insert("windlass_theme".to_owned(), "\"onload".to_owned());
    assert!(browser.page("/app/sign-in").await.contains("data-theme=\"system\""));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_hears_what_happens_with_its_session_and_not_without() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    assert_eq!(Browser::new(&installation).get("/app/live").await.status, 401);
    let page = browser.page("/app").await;
    let work = fleet(FLEET);
    installation.register(&admin, "fleet", &work).await;
    let mut stream =
        browser.request("GET", &format!("/app/live?after={}", last_event(&page))).send().await.unwrap();
    assert_eq!(stream.headers()["content-type"], "text/event-stream");
    let mut heard = String::new();
    while !heard.contains("data: gitops.repository_registered") {
        heard.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    assert!(heard.contains("id: ") && !heard.contains("event: "), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_a_fleet_is_on_no_page() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let secret = "canary-in-fleet-7Zq";
    let work = fleet(&format!(
        "version: 1\naccount: acme\nmodules:\n  db:\n    config: {{db_password: {secret}, port: 1}}\n"
    ));
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let (run, proposal) = (run["id"].as_str().unwrap(), run["proposals"][0]["id"].as_str().unwrap());
    let mut browser = Browser::of(&installation, &admin);
    for path in [
        "/app".to_owned(),
        "/app/approvals".to_owned(),
        format!("/app/proposals/{proposal}"),
        format!("/app/proposals/{proposal}?view=split"),
        format!("/app/proposals/{proposal}/edit"),
        format!("/app/runs/{run}"),
    ] {
        let page = browser.page(&path).await;
        assert!(!page.contains("canary-in"), "{path}");
    }
    let edit = format!("/app/proposals/{proposal}/edit");
    let page = browser.page(&edit).await;
    let version = crate::browser::field(&page, "version");
    // A masked value can be sent back together with another change.
    let text = page
        .split("<textarea")
        .nth(1)
        .unwrap()
        .split(['>', '<'])
        .nth(1)
        .unwrap()
        .replace("port: 1", "port: 2");
    let text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
    let after =
        browser.submit_and_follow(&page, &edit, &[("version", &version), ("text", text.trim())]).await;
    assert!(after.contains("Edited by") && !after.contains("canary-in"), "{after}");
}
