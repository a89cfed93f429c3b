//! Reviewing and deciding, with the mouse and with the keyboard.

use serde_json::Value;

use crate::harness::{FLEET, Installation, Person, fleet};
use crate::window::Window;

/// A fleet whose changes await approval, an approver, and their window.
struct ReviewSetup {
    installation: Installation,
    admin: Person,
    window: Window,
}

impl ReviewSetup {
    async fn new() -> Option<ReviewSetup> {
        let installation = Installation::start().await;
        let admin = installation.admin().await;
        let window = Window::of(&installation, &admin).await?;
        let work = fleet(FLEET);
        let repository = installation.register(&admin, "fleet", &work).await;
        // Through the page, as people do it.
        window.goto("/app/repositories").await;
        window.click(&format!("form[action='/app/repositories/{repository}/sync'] button")).await;
        window.until("location.pathname.startsWith('/app/runs/')").await;
        // The page follows the run without a reload.
        window.wait_for_text("Awaiting approval").await;
        window.until("document.querySelector('#nav-pending').innerText.trim().startsWith('11')").await;
        Some(ReviewSetup { installation, admin, window })
    }

    async fn proposal(&self, kind: &str, name: &str) -> Value {
        let path = format!("/api/v1/system/proposals?kind={kind}&name={name}&limit=500");
        let list = self.installation.get(&self.admin, &path).await;
        let is_it = |item: &&Value| item["name"] == name && item["kind"] == kind;
        list["proposals"].as_array().unwrap().iter().find(is_it).unwrap().clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_of_a_run_is_reviewed_and_approved_at_once_and_applied() {
    let Some(desk) = ReviewSetup::new().await else { return };
    let window = &desk.window;
    window.goto("/app/approvals").await;
    window.click("[data-pick-all]").await;
    window.until("document.querySelector('[data-selected]').textContent === '11 selected'").await;
    window.click(".decision-bar [value=approve]").await;
    // A decision about many changes needs confirmation.
    window.until("document.querySelector('#confirm').open").await;
    window.click("[data-confirm-yes]").await;
    window.wait_for_text("all caught up").await;
    window.until("document.querySelector('.notice-good')").await;
    let status = desk.installation.get(&desk.admin, "/api/v1/system/proposals?status=pending_approval").await;
    assert_eq!(status["proposals"].as_array().unwrap().len(), 0, "{status}");
    window.goto("/app/runs").await;
    window.wait_for_text("Applied").await;
    desk.window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_edited_with_help_and_then_approved_as_it_was_edited() {
    let Some(desk) = ReviewSetup::new().await else { return };
    let window = &desk.window;
    let proposal = desk.proposal("module", "web").await;
    let path = format!("/app/proposals/{}", proposal["id"].as_str().unwrap());
    window.goto(&path).await;
    window.click("[data-key=e]").await;
    window.until("location.pathname.endsWith('/edit')").await;
    let text = window.value("document.querySelector('#text').value").await;
    assert!(text.as_str().unwrap().contains("workers"), "{text}");
    window.fill("#text", "confg:\n  workers: 9\n").await;
    window.click(".form-foot .primary").await;
    window.until("document.querySelector('#problems-title')").await;
    // A rejected form is reported as such, and nothing else is reported.
    let browser_messages = window.browser_messages().await;
    assert!(browser_messages.iter().all(|told| told.contains("422")), "{browser_messages:?}");
    window.fill("#text", "config:\n  workers: 9\n").await;
    window.click(".form-foot .primary").await;
    window.until(&format!("location.pathname === '{path}'")).await;
    window.wait_for_text("Edited by").await;
    window.click("#proposal-decide .primary").await;
    window.until("document.querySelector('.notice-good')").await;
    window.wait_for_text("Applied").await;
    let accepted = desk.installation.get(&desk.admin, "/api/v1/system/node_modules/web").await;
    assert_eq!(accepted["node_module"]["spec"]["config"]["workers"], 9, "{accepted}");
    desk.window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_carries_its_reason() {
    let Some(desk) = ReviewSetup::new().await else { return };
    let window = &desk.window;
    let id = desk.proposal("cluster", "prod").await["id"].as_str().unwrap().to_owned();
    window.goto(&format!("/app/proposals/{id}")).await;
    window.click("details[data-key=r] summary").await;
    window.fill("#reject-reason", "not before the freeze ends").await;
    window.click("details[data-key=r] .danger").await;
    window.wait_for_text("not before the freeze ends").await;
    let after = desk.installation.get(&desk.admin, &format!("/api/v1/system/proposals/{id}")).await;
    assert_eq!(after["proposal"]["status"], "rejected", "{after}");
    assert_eq!(after["proposal"]["reason"], "not before the freeze ends", "{after}");
    desk.window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_is_found_and_approved_with_the_keyboard_alone() {
    let Some(desk) = ReviewSetup::new().await else { return };
    let window = &desk.window;
    window.goto("/app").await;
    // The first focus stop skips the navigation.
    window.press("\u{e004}").await;
    assert_eq!(window.value("document.activeElement.className").await, "skip");
    window.press("\u{e007}").await;
    window.until("location.hash === '#main'").await;
    window.press("ga").await;
    window.until("location.pathname === '/app/approvals' && document.readyState === 'complete'").await;
    window.press("/").await;
    window.until("document.activeElement.id === 'q'").await;
    window.press("edge-base").await;
    window.until("document.querySelectorAll('tr[data-row]').length === 1").await;
    window.press("\u{e00c}").await;
    window.until("document.activeElement.id !== 'q'").await;
    window.press("j").await;
    window.until("document.querySelector('tr[data-at]')").await;
    window.press("x").await;
    window.until("document.querySelector('[data-selected]').textContent === '1 selected'").await;
    window.press("a").await;
    window.until("document.querySelector('.notice-good')").await;
    let status = desk.proposal("template", "edge-base").await["status"].clone();
    assert!(["approved", "applied"].contains(&status.as_str().unwrap()), "{status}");
    desk.window.close_without_errors().await;
}
