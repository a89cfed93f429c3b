//! Events and the audit log, as a browser without scripts reads them.

use crate::browser::Browser;
use crate::harness::{FLEET, Installation, fleet};

/// The messages on a page of events.
fn event_messages(page: &str) -> Vec<&str> {
    let rows = page.split("<tr data-row data-seq=").skip(1);
    rows.map(|row| row.split("class=\"subject\">").nth(1).unwrap().split('<').next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_are_told_newest_first_and_page_on() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    for number in 0..60 {
        installation.make_cluster(&admin, &format!("cluster-{number}")).await.expect(201);
    }
    let mut browser = Browser::of(&installation, &admin);
    let first = browser.page("/app/events").await;
    assert_eq!(event_messages(&first).len(), 50);
    assert!(event_messages(&first)[0].contains("cluster-59"), "{first}");
    let older = first.split("rel=\"next\"").next().unwrap().rsplit("href=\"").next().unwrap();
    let older = older.split('"').next().unwrap();
    let second = browser.page(older).await;
    assert_eq!(event_messages(&second).len(), 10);
    assert!(event_messages(&second)[9].contains("cluster-0"), "{second}");
    assert!(second.contains("back to the newest") && !second.contains("data-pause"));
}

#[tokio::test(flavor = "multi_thread")]
async fn events_can_be_narrowed_to_what_one_looks_for() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    installation.sync(&admin, &repository).await;
    installation.make_cluster(&admin, "by-hand").await.expect(201);
    let mut browser = Browser::of(&installation, &admin);
    for (query, told_of, not) in [
        ("kind=resource.", "by-hand", "edge-01"),
        ("resource=node%2Fedge-01", "edge-01", "by-hand"),
        (&format!("repository={repository}"), "edge-01", "by-hand"),
        ("repository=fleet", "edge-01", "by-hand"),
        ("q=EDGE-02", "edge-02", "by-hand"),
        ("kind=gitops.sync_succeeded", "fleet", "edge-01"),
    ] {
        let page = browser.page(&format!("/app/events?{query}")).await;
        let messages = event_messages(&page).join("\n");
        assert!(page.contains(told_of) && !messages.contains(not) && !messages.is_empty(), "{query}: {page}");
    }
    let empty_fields = "/app/events?q=&kind=&severity=&repository=&resource=";
    assert!(event_messages(&browser.page(empty_fields).await).len() > 5);
    assert_eq!(browser.get("/app/events?severity=grave").await.status, 400);
    assert_eq!(browser.get("/app/events?resource=nonsense").await.status, 400);
    assert_eq!(browser.get("/app/events?repository=unknown").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_says_who_did_what_and_can_be_verified() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    installation.make_cluster(&admin, "one").await.expect(201);
    installation.make_cluster(&admin, "two").await.expect(201);
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/audit").await;
    for word in ["resource.create", &admin.email, ">one<", ">two<", "Hash", "Done"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    let of_one = browser.page("/app/audit?target=cluster%2Fone").await;
    assert!(of_one.contains(">one<") && !of_one.contains(">two<"), "{of_one}");
    let verified = browser.submit_and_follow(&page, "/app/audit/verify", &[]).await;
    assert!(verified.contains("The audit log is intact") && verified.contains("Latest hash:"), "{verified}");
    assert!(!browser.page("/app/audit").await.contains("The audit log is intact"), "it is told once");
}
