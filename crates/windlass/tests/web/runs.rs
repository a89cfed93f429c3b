//! A run's page: its progress, the differences by kind, and the state of each change, for any number of changes.

use std::collections::BTreeSet;

use crate::browser::{Browser, last_event};
use crate::harness::{FLEET, Installation, fleet};

/// The proposals a page links to.
fn proposals(page: &str) -> BTreeSet<String> {
    page.split("data-open href=\"/app/proposals/")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap().to_owned())
        .collect()
}

fn next(page: &str) -> Option<String> {
    let at = page.find("\" rel=\"next\"")?;
    let start = page[..at].rfind('"').unwrap() + 1;
    Some(page[start..at].replace("&amp;", "&"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_many_proposals_is_paged_and_no_proposal_is_missed_or_shown_twice() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let clusters: String = (0..230).map(|n| format!("  c{n:03}: {{}}\n")).collect();
    let work = fleet(&format!("version: 1\naccount: acme\nclusters:\n{clusters}"));
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    let mut browser = Browser::of(&installation, &admin);
    let mut path = format!("/app/runs/{}", run["id"].as_str().unwrap());
    let (mut seen, mut sizes) = (BTreeSet::new(), Vec::new());
    loop {
        let page = browser.page(&path).await;
        assert!(page.contains("230 proposals") && page.contains("Review 230"), "{page}");
        let found = proposals(&page);
        sizes.push(found.len());
        seen.extend(found);
        match next(&page) {
            Some(following) => path = following,
            None => break,
        }
    }
    assert_eq!((sizes, seen.len()), (vec![100, 100, 30], 230));
    let foreign = browser.get(&format!("/app/runs/{}?cursor=eA", run["id"].as_str().unwrap())).await;
    assert_eq!(foreign.status, 400, "{foreign:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_are_shown_by_what_became_of_them_with_the_reason() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    let first = run["proposals"][0]["id"].as_str().unwrap();
    let path = format!("/api/v1/system/proposals/{first}/reject");
    let body = serde_json::json!({"reason": "not <now>"});
    installation.tell(&admin.token, "POST", &path, &body).await.expect(200);
    let mut browser = Browser::of(&installation, &admin);
    let here = format!("/app/runs/{}", run["id"].as_str().unwrap());
    let page = browser.page(&here).await;
    for told in ["Queued", "Fetched", "Compared", "Approved", "Applied", "by kind", "step-now"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert_eq!(proposals(&page).len(), run["proposals"].as_array().unwrap().len());
    let declined = browser.page(&format!("{here}?show=not-applied")).await;
    assert_eq!(proposals(&declined), BTreeSet::from([first.to_owned()]));
    assert!(declined.contains("not &lt;now&gt;"), "{declined}");
    let waiting = browser.page(&format!("{here}?show=waiting")).await;
    assert!(!proposals(&waiting).contains(first), "{waiting}");
    let failed = browser.page(&format!("{here}?show=failed")).await;
    assert!(failed.contains("No proposals in this state"), "{failed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn problems_in_the_files_have_their_place() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet("version: 1\naccount: acme\nnodes:\n  a: {template: none, colour: red}\n");
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page(&format!("/app/runs/{}", run["id"].as_str().unwrap())).await;
    assert!(page.contains("fleet.yaml:4:"), "{page}");
    assert!(page.contains("step-failed"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_page_hears_of_every_stage() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let id = installation.register(&admin, "fleet", &work).await;
    let mut browser = Browser::of(&installation, &admin);
    let here = format!("/app/repositories/{id}");
    let page = browser.page(&here).await;
    let mut stream =
        browser.request("GET", &format!("/app/live?after={}", last_event(&page))).send().await.unwrap();
    browser.submit(&page, &format!("{here}/sync"), &[("back", &here)]).await;
    let mut heard = String::new();
    while !heard.contains("data: gitops.sync_succeeded") {
        heard.push_str(std::str::from_utf8(&stream.chunk().await.unwrap().unwrap()).unwrap());
    }
    let at =
        |stage: &str| heard.find(&format!("data: gitops.sync_{stage}")).unwrap_or_else(|| panic!("{heard}"));
    assert!(at("started") < at("fetched") && at("fetched") < at("succeeded"), "{heard}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_told_with_its_whole_message_and_what_is_left_after_applying() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet("version: 1\naccount: acme\nclusters: {prod: {}}\n");
    work.git(&["commit", "--quiet", "--amend", "--message", "Open prod\n\nBecause <Lisbon> grows.\n"]);
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    let proposal = run["proposals"][0]["id"].as_str().unwrap();
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page(&format!("/app/proposals/{proposal}")).await;
    assert!(page.contains("Open prod<span class=\"commit-body\">Because &lt;Lisbon&gt; grows.<"), "{page}");
    installation.apply_all(&admin, &run).await;
    let page = browser.page(&format!("/app/runs/{}", run["id"].as_str().unwrap())).await;
    assert!(page.contains("Because &lt;Lisbon&gt; grows."), "{page}");
    assert!(page.contains("After applying") && page.contains("In sync"), "{page}");
}
