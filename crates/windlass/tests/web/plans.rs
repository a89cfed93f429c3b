//! Approving a whole plan with one click, and releasing proposals that a failed run holds.

use serde_json::json;
use windlass_api::permission::Role;

use crate::browser::{Browser, fields};
use crate::harness::{Installation, config, fleet};

fn clusters(count: usize) -> String {
    let clusters: String = (0..count).map(|n| format!("  c{n:03}: {{}}\n")).collect();
    format!("version: 1\naccount: acme\nclusters:\n{clusters}")
}

async fn small_cap() -> Installation {
    let directory = tempfile::tempdir().unwrap();
    let mut config = config(directory.path());
    config.control.max_proposals = 5;
    Installation::start_with(directory, config).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_whole_plan_is_approved_with_one_click_on_the_runs_page() {
    let installation = small_cap().await;
    let admin = installation.admin().await;
    let work = fleet(&clusters(30));
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    let path = format!("/app/runs/{}", run["id"].as_str().unwrap());
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page(&path).await;
    assert!(page.contains("Approve all 30 changes of this plan"), "{page}");
    let digests = fields(&page, "digest");
    assert_eq!(
        digests,
        [run["sets"][0]["digest"].as_str().unwrap()],
        "a group that is the plan is not shown twice"
    );
    let form = [("digest", digests[0].as_str()), ("reason", "reviewed")];
    let after = browser.submit_and_follow(&page, &format!("{path}/approve"), &form).await;
    assert!(after.contains("Approved 30 changes"), "{after}");
    loop {
        let shown = installation
            .get(&admin, &format!("/api/v1/system/gitops_sync_runs/{}", run["id"].as_str().unwrap()))
            .await;
        if shown["status"] == "applied" {
            break;
        }
        tokio::task::yield_now().await;
    }
    let again = browser.page(&path).await;
    assert!(!again.contains("of this plan</button>"), "nothing is left to approve: {again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_approvals_page_says_how_many_destroys_a_plan_has_and_takes_them_with_one_click() {
    let installation = small_cap().await;
    let admin = installation.admin().await;
    let work = fleet(&clusters(8));
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    let path = format!("/api/v1/system/gitops_sync_runs/{}", run["id"].as_str().unwrap());
    let body = json!({"digest": run["sets"][0]["digest"]});
    installation.tell(&admin.token, "POST", &format!("{path}/approve"), &body).await.expect(200);
    while installation.get(&admin, &path).await["status"] != "applied" {
        tokio::task::yield_now().await;
    }
    work.commit("fleet.yaml", &clusters(2));
    let run = installation.sync(&admin, &id).await;
    let viewer = installation.person(&admin.account, Role::Viewer).await;
    let seen = Browser::of(&installation, &viewer).page("/app/approvals").await;
    let at = seen.find("formaction=").unwrap();
    assert!(seen[at..at + 600].contains(" disabled>"), "who may not approve has no such button: {seen}");
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/approvals").await;
    assert!(page.contains("6 of them delete a resource"), "{page}");
    let action = format!("/app/runs/{}/approve", run["id"].as_str().unwrap());
    assert!(page.contains(&format!("formaction=\"{action}\"")), "{page}");
    let digest = run["sets"][0]["digest"].as_str().unwrap();
    let bare = browser.submit_and_follow(&page, &action, &[("set", digest)]).await;
    assert!(bare.contains("6 changes of this set are destroys"), "{bare}");
    let meant = format!("{digest} destroys");
    let form = [("set", meant.as_str()), ("back", "/app/approvals")];
    let after = browser.submit_and_follow(&page, &action, &form).await;
    assert!(after.contains("Approved 6 changes"), "{after}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_failed_run_holds_is_released_on_its_page() {
    let installation = small_cap().await;
    let admin = installation.admin().await;
    let work = fleet(&clusters(2));
    let id = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &id).await;
    work.commit("fleet.yaml", "version: 1\naccount: [\n");
    let failed = installation.sync(&admin, &id).await;
    let mut browser = Browser::of(&installation, &admin);
    let proposal = run["proposals"][0]["id"].as_str().unwrap();
    let page = browser.page(&format!("/app/proposals/{proposal}")).await;
    assert!(page.contains("the last sync of fleet failed"), "{page}");
    let path = format!("/app/runs/{}", failed["id"].as_str().unwrap());
    let page = browser.page(&path).await;
    assert!(page.contains("Resume applying"), "{page}");
    let after = browser.submit_and_follow(&page, &format!("{path}/confirm-failure"), &[]).await;
    assert!(after.contains("Applying resumed despite the failed sync"), "{after}");
    assert!(!after.contains("Resume applying"), "{after}");
}
