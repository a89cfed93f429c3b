//! The versions of a module on its page: promoted, retired and taken back with plain forms, reviewed like other changes.

use serde_json::json;
use windlass_api::permission::Role;

use crate::browser::{Browser, button};
use crate::harness::{Installation, fleet};

const FLEET: &str = "version: 1
account: acme
modules:
  web: {version: 1.0.0, version_state: staging}
templates:
  edge: {node_platform: debian-12-amd64, modules: [web@1.0.0]}
";

const PAGE: &str = "/app/resources/module/web";
const ACTION: &str = "/app/modules/web/versions";

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_promoted_reviewed_retired_and_taken_back_with_a_reason() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    installation.apply_all(&admin, &run).await;
    let rules = json!({"policy": {"rules": [{"name": "live-needs-two", "action": "require_approval", "approvals": 2,
        "match": {"kinds": ["module_version"], "to_states": ["live"]}}]}});
    installation.tell(&admin.token, "PUT", "/api/v1/system/approval_policy", &rules).await.expect(200);

    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page(PAGE).await;
    for told in ["1.0.0", "Staging", "1 template", "Promote to blessed", "Move back…"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let of = |state: &'static str| [("version", "1.0.0"), ("state", state)];
    let page = browser.submit_and_follow(&page, ACTION, &of("blessed")).await;
    assert!(page.contains("web@1.0.0 is blessed") && page.contains("Promote to live"), "{page}");
    let page = browser.submit_and_follow(&page, ACTION, &of("live")).await;
    assert!(page.contains(">Change proposed<") && page.contains("Promote to live"), "{page}");
    let proposal = page.split("state tone-warn\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(browser.page(proposal).await.contains("rule live-needs-two"));

    let silent = browser.submit_and_follow(&page, ACTION, &of("staging")).await;
    assert!(silent.contains("taking a version back from blessed to staging needs a reason"), "{silent}");
    let [version, state] = of("staging");
    let page = browser.submit_and_follow(&page, ACTION, &[version, state, ("reason", "it crashes")]).await;
    assert!(page.contains("web@1.0.0 is staging"), "{page}");
    let retire = "Retire<span class=\"visually-hidden\"> 1.0.0</span>";
    assert!(button(&page, retire).contains("data-ask=\"Retire web@1.0.0?"), "{page}");
    let page = browser.submit_and_follow(&page, ACTION, &of("retired")).await;
    assert!(page.contains("web@1.0.0 is retired") && !page.contains(retire), "{page}");
    assert_eq!(browser.submit(&page, ACTION, &[version, ("state", "polished")]).await.status, 404);

    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let page = Browser::of(&installation, &viewer).page(PAGE).await;
    assert!(page.contains("this needs the permission system.fleet.write"), "{page}");
    assert!(button(&page, "Move back<span class=\"visually-hidden\"> 1.0.0</span>").contains(" disabled"));
}
