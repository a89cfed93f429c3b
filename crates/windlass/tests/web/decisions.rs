//! Reviewing in a browser without scripts: plain forms, each bound to the reviewed content.

use serde_json::{Value, json};
use windlass_api::permission::Role;

use crate::browser::{Browser, button, field, fields, last_event};
use crate::harness::{FLEET, Installation, Person, fleet};

/// A synced fleet that awaits approval.
async fn waiting(installation: &Installation) -> (Person, Value) {
    let admin = installation.admin().await;
    let work = fleet(FLEET);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    (admin, run)
}

fn proposal<'r>(run: &'r Value, kind: &str, name: &str) -> &'r str {
    let all = run["proposals"].as_array().unwrap();
    let found = all.iter().find(|it| it["kind"] == kind && it["name"] == name);
    found.unwrap_or_else(|| panic!("no {kind} {name} in {run}"))["id"].as_str().unwrap()
}

async fn shown(installation: &Installation, who: &Person, id: &str) -> Value {
    installation.get(who, &format!("/api/v1/system/proposals/{id}")).await["proposal"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn several_proposals_are_approved_at_once_each_with_the_digest_that_was_shown() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let total = run["proposals"].as_array().unwrap().len();
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/approvals").await;
    let picks = fields(&page, "pick");
    assert_eq!(picks.len(), total);
    assert!(page.contains("identical"), "edge-01 and edge-02 are the same change");
    let edited = proposal(&run, "node", "edge-02");
    let path = format!("/api/v1/system/proposals/{edited}/edit");
    let body = json!({"payload": {"template": "edge-base", "region": "us"}});
    installation.tell(&admin.token, "POST", &path, &body).await.expect(200);
    let mut form: Vec<(&str, &str)> = vec![("decision", "approve"), ("back", "/app/approvals?q=edge")];
    form.extend(picks.iter().map(|pick| ("pick", pick.as_str())));
    let after = browser.submit_and_follow(&page, "/app/approvals", &form).await;
    let told = format!("{} approved, 1 not", total - 1);
    assert!(after.contains(&told), "{after}");
    assert!(after.contains("node edge-02: the proposal changed since your review"), "{after}");
    assert_eq!(shown(&installation, &admin, edited).await["status"], "pending_approval");
    let again = browser.page("/app/approvals").await;
    assert!(!again.contains(&told), "a notice is told once");
    assert_eq!(fields(&again, "pick").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn several_are_rejected_with_a_reason_and_none_without_being_chosen() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page("/app/approvals?kind=cluster").await;
    let picks = fields(&page, "pick");
    assert_eq!(picks.len(), 1, "the filter holds");
    let none =
        browser.submit_and_follow(&page, "/app/approvals", &[("decision", "reject"), ("reason", "no")]).await;
    assert!(none.contains("Select at least one change"), "{none}");
    let form = [
        ("decision", "reject"),
        ("pick", picks[0].as_str()),
        ("reason", "not <this> week"),
        ("until_change", "yes"),
    ];
    let after = browser.submit_and_follow(&page, "/app/approvals", &form).await;
    assert!(after.contains("1 rejected"), "{after}");
    let rejected = shown(&installation, &admin, proposal(&run, "cluster", "prod")).await;
    assert_eq!((&rejected["status"], &rejected["reason"]), (&json!("rejected"), &json!("not <this> week")));
    let page = browser.page(&format!("/app/proposals/{}", rejected["id"].as_str().unwrap())).await;
    assert!(page.contains("not &lt;this&gt; week") && !page.contains("/approve\""), "{page}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_understood_and_approved_on_its_own_page() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let id = proposal(&run, "template", "edge-base");
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page(&format!("/app/proposals/{id}")).await;
    for told in [
        "fleet.yaml:4",
        "node_platform: ubuntu-24.04-amd64",
        "2 resources",
        "edge-01",
        "default policy",
        "0 of 1 approval",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(browser.page(&format!("/app/proposals/{id}?view=split")).await.contains("class=\"diff split\""));
    let path = format!("/app/proposals/{id}/approve");
    let blind = browser.submit(&page, &path, &[]).await;
    assert_eq!(blind.status, 400, "without saying what was looked at nothing is approved: {blind:?}");
    let moved = browser.submit_and_follow(&page, &path, &[("digest", "another")]).await;
    assert!(moved.contains("the proposal changed since your review"), "{moved}");
    let digest = field(&page, "digest");
    let after =
        browser.submit_and_follow(&page, &path, &[("digest", &digest), ("reason", "looks right")]).await;
    assert!(after.contains("Approved") && after.contains("looks right"), "{after}");
    let twice = browser.submit_and_follow(&page, &path, &[("digest", &digest)]).await;
    assert!(twice.contains("the proposal is a"), "approved, or applied already: {twice}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_checked_at_its_place_saved_and_approved_as_edited() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let id = proposal(&run, "template", "edge-base");
    let mut browser = Browser::of(&installation, &admin);
    let path = format!("/app/proposals/{id}/edit");
    let page = browser.page(&path).await;
    assert!(page.contains("node_platform: ubuntu-24.04-amd64"), "{page}");
    let version = field(&page, "version");
    let text = "node_platform: ubuntu-24.04-amd64\nmodule: [chrony@live]\n";
    let wrong = browser.submit(&page, &path, &[("version", &version), ("text", text)]).await;
    assert_eq!(wrong.status, 422, "{wrong:?}");
    assert!(
        wrong.text.contains("Line 2, column 1") && wrong.text.contains("module: [chrony@live]"),
        "{wrong:?}"
    );
    let broken = browser.submit(&page, &path, &[("version", &version), ("text", "a: [")]).await;
    assert_eq!(broken.status, 422, "{broken:?}");
    let text = "{\"node_platform\": \"ubuntu-24.04-amd64\", \"modules\": [\"chrony@live\"]}";
    let edited = browser.submit_and_follow(&page, &path, &[("version", &version), ("text", text)]).await;
    assert!(edited.contains("Edited by"), "{edited}");
    let stale = browser.submit(&page, &path, &[("version", &version), ("text", text)]).await;
    assert!(stale.status == 422 && stale.text.contains("someone else changed it meanwhile"), "{stale:?}");
    let digest = field(&edited, "digest");
    let path = format!("/app/proposals/{id}/approve");
    let approved = browser.submit_and_follow(&edited, &path, &[("digest", &digest)]).await;
    assert!(approved.contains("Approved"), "{approved}");
    let apply = format!("/api/v1/system/proposals/{id}/apply?wait=60");
    let applied = installation.ask(&admin.token, "POST", &apply).await.expect(200);
    assert_eq!(applied["proposal"]["status"], "applied", "{applied}");
    let accepted = installation.get(&admin, "/api/v1/system/node_templates?q=edge-base").await;
    assert_eq!(accepted["node_templates"][0]["spec"]["modules"], json!(["chrony@live"]), "{accepted}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_can_be_taken_back() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let id = proposal(&run, "node", "edge-01");
    let mut browser = Browser::of(&installation, &admin);
    let path = format!("/app/proposals/{id}/edit");
    let page = browser.page(&path).await;
    let form =
        [("version", field(&page, "version")), ("text", "template: edge-base\nregion: us\n".to_owned())];
    let form: Vec<(&str, &str)> = form.iter().map(|(name, value)| (*name, value.as_str())).collect();
    browser.submit_and_follow(&page, &path, &form).await;
    let page = browser.page(&path).await;
    assert!(page.contains("region: us") && page.contains("Discard edit"), "{page}");
    let version = field(&page, "version");
    let back = browser.submit_and_follow(&page, &path, &[("version", &version), ("undo", "yes")]).await;
    assert!(back.contains("Edit discarded") && !back.contains("Edited by"), "{back}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_allowed_is_disabled_and_says_why() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let id = proposal(&run, "node", "edge-01");
    let viewer = installation.person(&installation.account, Role::Viewer).await;
    let mut browser = Browser::of(&installation, &viewer);
    let page = browser.page(&format!("/app/proposals/{id}")).await;
    for (text, permission) in
        [("Approve", "approve"), ("Reject", "approve"), ("Edit before approval", "write")]
    {
        assert!(button(&page, text).contains("disabled"), "{text}");
        assert!(page.contains(&format!("this needs the permission system.gitops.{permission}")), "{text}");
    }
    let list = browser.page("/app/approvals").await;
    assert!(button(&list, "Approve").contains("disabled") && button(&list, "Reject").contains("disabled"));
    let boxes = list.split("name=\"pick\"").skip(1);
    assert!(boxes.into_iter().all(|rest| rest.split('>').next().unwrap().contains("disabled")));
    assert!(browser.page("/app/repositories").await.contains("this needs the permission system.gitops.sync"));

    let policy =
        json!({"policy": {"rules": [{"name": "frozen", "match": {"kinds": ["node"]}, "action": "block"}]}});
    let set = installation.tell(&admin.token, "PUT", "/api/v1/system/approval_policy", &policy).await;
    assert_eq!(set.status, 200, "{set:?}");
    let mut browser = Browser::of(&installation, &admin);
    let page = browser.page(&format!("/app/proposals/{id}")).await;
    assert!(button(&page, "Approve").contains("disabled"), "a policy blocks it: {page}");
    let halted =
        installation.tell(&admin.token, "POST", "/api/v1/system/halt", &json!({"reason": "a <fire>"})).await;
    assert_eq!(halted.status, 200);
    let overview = browser.page("/app").await;
    assert!(overview.contains("Applying is halted") && overview.contains("a &lt;fire&gt;"), "{overview}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_is_started_from_the_list_and_leads_to_its_run() {
    let installation = Installation::start().await;
    let operator = installation.person(&installation.account, Role::Operator).await;
    let work = fleet(FLEET);
    let repository = installation.register(&operator, "fleet", &work).await;
    let mut browser = Browser::of(&installation, &operator);
    let page = browser.page("/app/repositories").await;
    let run = browser.submit_and_follow(&page, &format!("/app/repositories/{repository}/sync"), &[]).await;
    assert!(run.contains("Timeline") && run.contains("fleet"), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_list_comes_in_pages_that_together_are_the_list() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let total = run["proposals"].as_array().unwrap().len();
    let mut browser = Browser::of(&installation, &admin);
    let (mut path, mut seen) = ("/app/approvals?limit=3".to_owned(), Vec::new());
    loop {
        let page = browser.page(&path).await;
        seen.extend(fields(&page, "pick"));
        let Some(next) = page.split("class=\"button\" href=\"").nth(1) else { break };
        path = next.split('"').next().unwrap().replace("&amp;", "&");
    }
    let ids: Vec<&str> = seen.iter().map(|pick| pick.split(':').next().unwrap()).collect();
    let whole = fields(&browser.page("/app/approvals").await, "pick");
    assert_eq!((ids.len(), whole.len()), (total, total));
    let unique: std::collections::BTreeSet<&&str> = ids.iter().collect();
    assert_eq!(unique.len(), total, "none comes twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_was_overtaken_while_it_was_made_hears_of_it() {
    let installation = Installation::start().await;
    let (admin, run) = waiting(&installation).await;
    let mut browser = Browser::of(&installation, &admin);
    for (kind, name) in [("module", "web"), ("cluster", "prod"), ("template", "edge-base")] {
        let id = proposal(&run, kind, name);
        let here = format!("/app/proposals/{id}");
        let path = format!("/api/v1/system/proposals/{id}/approve");
        installation.tell(&admin.token, "POST", &path, &json!({})).await.expect(200);
        let mut known = Vec::new();
        while shown(&installation, &admin, id).await["status"] != "applied" {
            let page = browser.page(&here).await;
            if !page.contains("Applied") {
                known.push(last_event(&page).parse::<i64>().unwrap());
            }
        }
        let events =
            format!("/api/v1/system/fleet_events?resource={kind}/{name}&kind=gitops.proposal_applied");
        let applied = installation.get(&admin, &events).await["fleet_events"][0]["seq"].as_i64().unwrap();
        assert!(known.iter().all(|last_event| *last_event < applied), "{known:?} and applied at {applied}");
    }
}
