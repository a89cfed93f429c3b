//! The drift page: field by field, with plain forms to revert, adopt or accept.

use serde_json::json;
use windlass_api::permission::Role;
use windlass_testkit::servers::WorkTree;

use crate::browser::{Browser, button, field};
use crate::harness::{FLEET, Installation, Person, fleet};
use crate::reported_node::{file, report};

/// An accepted fleet with a manual change of one node.
async fn drifted(installation: &Installation) -> (Person, WorkTree, String) {
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let patch = json!({"region": "us"});
    installation.tell(&admin.token, "PATCH", "/api/v1/system/nodes/edge-01", &patch).await.expect(200);
    (admin, work, repository)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_hand_is_told_field_by_field_and_reverted_by_a_proposal() {
    let installation = Installation::start().await;
    let (admin, _work, repository) = drifted(&installation).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/drift").await;
    for told in [
        "Manual changes <span class=\"kinds-count\">1</span>",
        "<code class=\"path\">region</code>",
        "<del>eu</del>",
        "<ins>us</ins>",
        &admin.email,
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let form = [("kind", "node"), ("name", "edge-01"), ("back", "/app/drift?show=")];
    let path = format!("/app/drift/{repository}/revert");
    let after = browser.submit_and_follow(&page, &path, &form).await;
    assert!(after.contains("Proposed to restore node edge-01 to its state in git"), "{after}");
    let run = installation.sync(&admin, &repository).await;
    assert_eq!(run["proposals"][0]["name"], "edge-01", "{run}");
    installation.apply_all(&admin, &run).await;
    let settled = browser.page("/app/drift").await;
    assert!(settled.contains("No drift, no manual changes and nothing pending"), "{settled}");
    let again = browser.submit_and_follow(&page, &path, &form).await;
    assert!(again.contains("node edge-01 is in sync"), "{again}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_difference_is_accepted_with_a_reason_until_a_day_and_taken_back() {
    let installation = Installation::start().await;
    let (admin, _work, repository) = drifted(&installation).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/drift").await;
    let path = format!("/app/drift/{repository}/accept");
    let target = [("kind", "node"), ("name", "edge-01")];
    let silent = browser.submit_and_follow(&page, &path, &target).await;
    assert!(silent.contains("accepting a difference needs a reason"), "{silent}");
    let past = [target[0], target[1], ("reason", "trial"), ("until", "2020-01-31")];
    let past = browser.submit_and_follow(&page, &path, &past).await;
    assert!(past.contains("until must be a time in the future"), "{past}");
    let form = [target[0], target[1], ("reason", "a <trial> move"), ("until", "2999-01-31")];
    let after = browser.submit_and_follow(&page, &path, &form).await;
    assert!(after.contains("Accepted the drift of node edge-01"), "{after}");
    let accepted = browser.page("/app/drift?show=accepted").await;
    assert!(accepted.contains("a &lt;trial&gt; move") && accepted.contains("2999-01-31"), "{accepted}");
    let resource = browser.page("/app/resources/node/edge-01").await;
    assert!(resource.contains("Accepted drift"), "{resource}");
    let path = format!("/app/drift/{repository}/unaccept");
    let back = browser.submit_and_follow(&accepted, &path, &target).await;
    assert!(back.contains("Drift no longer accepted") && back.contains("<ins>us</ins>"), "{back}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_patch_is_shown_before_its_branch_is_pushed() {
    let installation = Installation::start().await;
    let (admin, work, repository) = drifted(&installation).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/drift").await;
    let path = format!("/app/drift/{repository}/adopt");
    let target = [("kind", "node"), ("name", "edge-01")];
    let shown = browser.submit(&page, &path, &target).await;
    assert_eq!(shown.status, 200, "{shown:?}");
    assert!(shown.text.contains("<tr class=\"come\">") && shown.text.contains("region: us"), "{shown:?}");
    let branch = field(&shown.text, "branch");
    assert_eq!(branch, "windlass/adopt-node-edge-01");
    let bad = [target[0], target[1], ("branch", "--force")];
    let refused = browser.submit(&page, &path, &bad).await;
    assert!(refused.status == 200 && refused.text.contains("role=\"alert\""), "{refused:?}");
    let form = [target[0], target[1], ("branch", branch.as_str())];
    let pushed = browser.submit_and_follow(&shown.text, &path, &form).await;
    assert!(pushed.contains("Pushed windlass/adopt-node-edge-01 at "), "{pushed}");
    assert!(work.git(&["show", "windlass/adopt-node-edge-01:fleet.yaml"]).contains("region: us"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_that_stands_in_git_beside_a_change_is_not_on_the_page_of_its_patch() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(
        "version: 1\naccount: acme\nmodules:\n  db:\n    config:\n      db_password: planted-4711\n      port: 1\n",
    );
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let patch = json!({"config": {"port": 2}});
    installation.tell(&admin.token, "PATCH", "/api/v1/system/node_modules/db", &patch).await.expect(200);
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/drift").await;
    let form = [("kind", "module"), ("name", "db")];
    let shown = browser.submit(&page, &format!("/app/drift/{repository}/adopt"), &form).await;
    assert!(shown.text.contains("port: 2"), "{shown:?}");
    assert!(!page.contains("planted-4711") && !shown.text.contains("planted-4711"), "{shown:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_approval_is_told_apart_and_who_may_not_sees_why() {
    let installation = Installation::start().await;
    let (_, work, repository) = drifted(&installation).await;
    work.commit("fleet.yaml", &FLEET.replace("workers: 4", "workers: 8"));
    let admin = installation.admin().await;
    installation.sync(&admin, &repository).await;
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let mut browser = Browser::of(&installation, &viewer);
    let page = browser.page(&format!("/app/drift?repository={repository}")).await;
    assert!(page.contains("Pending <span class=\"kinds-count\">1</span>"), "{page}");
    assert!(page.contains("Revert: this needs the permission system.gitops.sync"), "{page}");
    assert!(page.contains("Accept: this needs the permission system.gitops.approve"), "{page}");
    assert!(button(&page, "Revert<span class=\"visually-hidden\"> edge-01</span>").contains(" disabled"));
    let pending = browser.page("/app/drift?show=pending").await;
    assert!(
        pending.contains("changed in git, not applied yet") && pending.contains(">Review</a>"),
        "{pending}"
    );
    assert!(!pending.contains("/revert\""), "{pending}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_drifted_target_is_shown_separately_from_manual_changes() {
    let installation = Installation::start().await;
    let (admin, _work, _) = drifted(&installation).await;
    report(&installation, "edge-01", vec![file("/etc/motd", "hello\n", "welcome\n")]).await;
    report(&installation, "edge-02", Vec::new()).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/drift?show=drifted").await;
    for told in [
        "Drifted <span class=\"kinds-count\">1</span>",
        "Manual changes <span class=\"kinds-count\">1</span>",
        "/app/nodes/edge-01",
        "Drifted: path /etc/motd of module system-base changed since",
        "The agent applies everything that is assigned again",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!page.contains("edge-02"), "it is in sync: {page}");
    let manual = browser.page("/app/drift").await;
    assert!(manual.contains("Revert") && !manual.contains("The agent applies everything"), "{manual}");
}
