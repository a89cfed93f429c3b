//! The accepted state on pages: tables with pages and filters, and one resource with everything related.

use serde_json::json;
use windlass_api::permission::Role;

use crate::browser::Browser;
use crate::harness::{FLEET, Installation, fleet};

/// The URLs of the rows of a page.
fn rows(page: &str) -> Vec<String> {
    page.split("data-open href=\"").skip(1).map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_is_paged_searched_and_counted_by_kind() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for index in 0..60 {
        installation.make_cluster(&admin, &format!("site-{index:02}")).await.expect(201);
    }
    let body = json!({"name": "web", "config": {"workers": 4}});
    installation.tell(&admin.token, "POST", "/api/v1/system/node_modules", &body).await.expect(201);
    let mut browser = Browser::of(&installation, &admin);
    let first = browser.page("/app/resources").await;
    assert!(first.contains("61 resources"), "{first}");
    assert!(first.contains("Clusters <span class=\"kinds-count\">60</span>"), "{first}");
    let mut seen = rows(&first);
    assert_eq!(seen.len(), 50, "no page shows, or reads, more than a page");
    let next = first.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let next = next.split('"').next().unwrap().to_owned();
    seen.extend(rows(&browser.page(&next).await));
    assert_eq!(seen.len(), 61);
    let found = browser.page("/app/resources?q=SITE-1").await;
    assert_eq!(rows(&found).len(), 10, "{found}");
    assert!(
        found.contains("10 resources found") && found.contains("/app/resources/clusters?q=SITE-1"),
        "{found}"
    );
    let modules = browser.page("/app/resources/modules").await;
    assert_eq!(rows(&modules), ["/app/resources/module/web"]);
    assert!(browser.page("/app/resources/nodes").await.contains("No resources yet"));
    assert!(browser.page("/app/resources?repository=none&q=none").await.contains("No resource matches"));
    assert_eq!(browser.get("/app/resources/gadgets").await.status, 404);
    assert_eq!(browser.get("/app/resources?repository=absent").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resource_tells_where_it_is_declared_what_is_tied_to_it_and_who_changed_it() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let patch = json!({"region": "us", "config": {"api_token": "planted-4711"}});
    installation.tell(&admin.token, "PATCH", "/api/v1/system/nodes/edge-01", &patch).await.expect(200);
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/resources/node/edge-01").await;
    for told in [
        "fleet.yaml:",
        "region: us",
        "(hidden)",
        "/app/resources/template/edge-base",
        "/app/resources/peer/fabric%2Fedge-01",
        "/app/resources/assignment/edge-01%3Aweb",
        "Differs from git",
        "manually",
        "created through a proposal",
        "proposed: create node edge-01",
        &admin.email,
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!page.contains("planted-4711"), "a secret is on no page");
    let peer = browser.page("/app/resources/peer/fabric%2Fedge-01").await;
    assert!(peer.contains("/app/topology/fabric") && peer.contains("Address"), "{peer}");
    let elsewhere = installation.new_account("elsewhere").await;
    let stranger = installation.person(&elsewhere, Role::Admin).await;
    assert_eq!(Browser::of(&installation, &stranger).get("/app/resources/node/edge-01").await.status, 404);
}
