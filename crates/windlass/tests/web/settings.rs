//! Settings: the kill switch, people, tokens and the policy, with plain forms.

use windlass_api::permission::Role;

use crate::browser::{Browser, button, field};
use crate::harness::{FLEET, Installation, fleet};

/// The secret a page shows once.
fn secret(page: &str) -> String {
    let at = page.find("id=\"once-secret\">").unwrap_or_else(|| panic!("no secret in {page}"));
    page[at..].split(['>', '<']).nth(1).unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kill_switch_is_pulled_with_a_reason_that_every_page_tells() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/settings").await;
    let silent = browser.submit_and_follow(&page, "/app/settings/halt", &[("reason", " ")]).await;
    assert!(silent.contains("Enter a reason to halt applying"), "{silent}");
    let halted = browser.submit_and_follow(&page, "/app/settings/halt", &[("reason", "<fire>")]).await;
    assert!(halted.contains("Resume applying") && halted.contains("&lt;fire&gt;"), "{halted}");
    assert!(browser.page("/app").await.contains("Applying is halted"));
    let resumed = browser.submit_and_follow(&halted, "/app/settings/resume", &[]).await;
    assert!(resumed.contains("Applying resumed") && resumed.contains("Halt all applying"), "{resumed}");
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let mut browser = Browser::of(&installation, &viewer);
    let page = browser.page("/app/settings").await;
    assert!(page.contains("this needs the permission system.gitops.approve"), "{page}");
    assert!(page.contains("class=\"tab-off\""), "people are not for everyone: {page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_added_with_a_password_shown_once_changed_and_taken_out() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let here = "/app/settings/people";
    let page = browser.page(here).await;
    let form = [("email", "ada@example.com"), ("name", "Ada"), ("role", "approver")];
    let added = browser.submit(&page, here, &form).await;
    assert_eq!(added.status, 200, "{added:?}");
    let password = secret(&added.text);
    assert!(password.len() >= 12, "{password}");
    assert!(!added.headers.contains_key("set-cookie"), "no cookie carries it: {added:?}");
    let listed = browser.page(here).await;
    assert!(listed.contains("ada@example.com") && !listed.contains(&password), "{listed}");
    let mut hers = Browser::new(&installation);
    let entrance = hers.page("/app/sign-in").await;
    let form = [("email", "ada@example.com"), ("password", password.as_str()), ("next", "/app")];
    assert_eq!(hers.submit(&entrance, "/app/sign-in", &form).await.status, 303);
    let wrong = browser.submit(&page, here, &[("email", "nobody"), ("role", "viewer")]).await;
    assert!(wrong.status == 422 && wrong.text.contains("not a valid e-mail address"), "{wrong:?}");
    let users = installation.get(&admin, "/api/v1/auth/users").await;
    let ada = users["users"].as_array().unwrap().iter().find(|it| it["email"] == "ada@example.com").unwrap();
    let her = format!("{here}/{}", ada["id"].as_str().unwrap());
    let changed = browser.submit_and_follow(&page, &her, &[("do", "role"), ("role", "operator")]).await;
    assert!(changed.contains("Saved ada@example.com"), "{changed}");
    let reset = browser.submit(&page, &her, &[("do", "reset")]).await;
    assert_ne!(secret(&reset.text), password);
    let disabled = browser.submit_and_follow(&page, &her, &[("do", "disable")]).await;
    assert!(disabled.contains("Disabled") && disabled.contains("Enable"), "{disabled}");
    let gone = browser.submit_and_follow(&page, &format!("{her}/remove"), &[]).await;
    assert!(!gone.contains("ada@example.com"), "{gone}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_change_of_a_person_is_told_on_the_page() {
    let installation = Installation::start().await;
    let root = installation.root().await;
    let mut browser = Browser::of(&installation, &root);
    let here = "/app/settings/people";
    let page = browser.page(here).await;
    let me = format!("{here}/{}", root.id);
    let reply = browser.submit(&page, &me, &[("do", "role"), ("role", "viewer")]).await;
    assert_eq!(reply.status, 409, "{reply:?}");
    assert!(reply.text.contains("the account would have no admin left"), "{reply:?}");
    assert!(reply.text.contains("make someone else an admin first"), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_shows_its_secret_once_works_and_is_revoked() {
    let installation = Installation::start().await;
    let operator = installation.person(&installation.account, Role::Operator).await;
    let mut browser = Browser::of(&installation, &operator);
    let here = "/app/settings/tokens";
    let page = browser.page(here).await;
    assert!(page.contains("you do not have this permission"), "{page}");
    let form = [("name", "nightly"), ("days", "30"), ("permission", "system.gitops.read")];
    let made = browser.submit(&page, here, &form).await;
    let secret = secret(&made.text);
    let status = "/api/v1/system/status";
    assert_eq!(installation.ask(&secret, "GET", status).await.status, 200);
    let listed = browser.page(here).await;
    assert!(listed.contains("nightly") && !listed.contains(&secret), "{listed}");
    let more = [("name", "more"), ("days", "30"), ("permission", "system.gitops.admin")];
    let refused = browser.submit(&page, here, &more).await;
    assert!(
        refused.status == 403 && refused.text.contains("cannot have more permissions than you"),
        "{refused:?}"
    );
    let none = browser.submit(&page, here, &[("name", "x"), ("days", "30")]).await;
    assert!(none.status == 422 && none.text.contains("select at least one"), "{none:?}");
    let at = listed.find("/revoke\"").unwrap();
    let revoke = listed[listed[..at].rfind('"').unwrap() + 1..at].to_owned() + "/revoke";
    let after = browser.submit_and_follow(&listed, &revoke, &[]).await;
    assert!(after.contains("Token revoked") && after.contains("Revoked"), "{after}");
    assert_eq!(installation.ask(&secret, "GET", status).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_policy_is_checked_at_its_place_and_saved_as_it_was_looked_at() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let here = "/app/settings/policy";
    let page = browser.page(here).await;
    let version = field(&page, "version");
    let wrong = "rules:\n  - name: a\n    action: allow_all\n";
    let reply = browser.submit(&page, here, &[("version", &version), ("text", wrong)]).await;
    assert_eq!(reply.status, 422, "{reply:?}");
    assert!(reply.text.contains("Line 3, column") && reply.text.contains("allow_all"), "{reply:?}");
    let good = "rules:\n  - name: twice\n    action: require_approval\n    approvals: 2\n";
    let saved = browser.submit_and_follow(&page, here, &[("version", &version), ("text", good)]).await;
    assert!(saved.contains("Policy saved") && saved.contains("approvals: 2"), "{saved}");
    let stale = browser.submit(&page, here, &[("version", &version), ("text", good)]).await;
    assert!(stale.status == 422 && stale.text.contains("someone else changed it meanwhile"), "{stale:?}");
    let version = field(&saved, "version");
    let none = [("version", version.as_str()), ("text", "rules: []\n")];
    let emptied = browser.submit_and_follow(&saved, here, &none).await;
    assert!(emptied.contains("Policy saved"), "{emptied}");
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let page = Browser::of(&installation, &viewer).page(here).await;
    assert!(button(&page, "Save the policy").contains(" disabled"), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_policys_page_tells_which_repositories_are_gone_and_saves_no_namesake() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let register = || installation.register(&admin, "fleet-one", &work);
    let first = register().await;
    let mut browser = Browser::of(&installation, &admin);
    let here = "/app/settings/policy";
    let page = browser.page(here).await;
    let trusting =
        "rules:\n  - name: trusts\n    match:\n      repositories: [fleet-one]\n    action: auto_approve\n";
    let version = field(&page, "version");
    let saved = browser.submit_and_follow(&page, here, &[("version", &version), ("text", trusting)]).await;
    assert!(!saved.contains("repositories that are gone"), "{saved}");
    let gone = format!("/api/v1/system/gitops_repositories/{first}");
    installation.ask(&admin.token, "DELETE", &gone).await.expect(204);
    let page = browser.page(here).await;
    assert!(page.contains("Rules refer to removed repositories"), "{page}");
    assert!(page.contains("<code>fleet-one</code>"), "{page}");
    let second = register().await;
    let version = field(&page, "version");
    let refused = browser.submit(&page, here, &[("version", &version), ("text", trusting)]).await;
    assert!(
        refused.status == 422 && refused.text.contains("another repository has that name"),
        "{refused:?}"
    );
    assert!(refused.text.contains(&second), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_is_tested_and_what_did_not_arrive_is_sent_again() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    let here = "/app/settings/notifications";
    let spec = serde_json::json!({"name": "hook", "type": "webhook", "address": "https://127.0.0.1/x"});
    let made = installation.tell(&admin.token, "POST", "/api/v1/system/notification_providers", &spec).await;
    made.expect(201);
    let page = browser.page(here).await;
    assert!(page.contains("none yet") && page.contains("https://127.0.0.1/x"), "{page}");
    let tested = browser.submit_and_follow(&page, &format!("{here}/hook/test"), &[]).await;
    assert!(tested.contains("Test message failed"), "{tested}");
    assert!(tested.contains("could not reach 127.0.0.1"), "{tested}");
    let log = installation.get(&admin, "/api/v1/system/notification_deliveries").await;
    let id = log["notification_deliveries"][0]["id"].as_str().unwrap().to_owned();
    let again = browser.submit_and_follow(&tested, &format!("{here}/deliveries/{id}/retry"), &[]).await;
    assert!(again.contains("Retrying"), "{again}");
    assert!(browser.page(&format!("{here}?state=sent")).await.contains("No notification matches"));
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let page = Browser::of(&installation, &viewer).page(here).await;
    assert!(page.contains("this needs the permission system.gitops.write"), "{page}");
}
