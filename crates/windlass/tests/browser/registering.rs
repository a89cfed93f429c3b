//! Registering a repository with the form, and watching its first sync.

use crate::harness::{FLEET, Installation, fleet};
use crate::window::Window;

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_is_tested_registered_and_synced_from_its_form() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let Some(window) = Window::of(&installation, &admin).await else { return };
    let work = fleet(FLEET);
    window.goto("/app/repositories").await;
    window.click("a[href='/app/repositories/new']").await;
    window.until("document.querySelector('#repo_url')").await;
    window.fill("#repo_url", &format!("file://{}", work.path().display())).await;
    window.fill("#name", "edge").await;
    window.click("[formaction='/app/repositories/new/test']").await;
    window.until("document.querySelector('.checks .check-passed')").await;
    assert_eq!(window.value("document.querySelectorAll('.check-failed').length").await, 0);
    assert_eq!(window.value("document.querySelector('#name').value").await, "edge");
    window.click("form button.primary.wide").await;
    window.until("/^\\/app\\/repositories\\/[0-9a-f-]{36}$/.test(location.pathname)").await;
    // The first sync starts automatically, and the page follows it.
    window.wait_for_text("Awaiting approval").await;
    window.until("document.querySelector('#nav-pending').innerText.trim().startsWith('11')").await;
    window.close_without_errors().await;
}
