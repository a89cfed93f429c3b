//! Signing in.

use serde_json::json;

use crate::harness::Installation;
use crate::window::Window;

const PASSWORD: &str = "correct horse battery staple";

#[tokio::test(flavor = "multi_thread")]
async fn the_first_sign_in_leads_over_a_new_password_to_the_page_that_was_asked_for() {
    let installation = Installation::start().await;
    let Some(window) = Window::open(&installation).await else { return };
    let admin = installation.admin().await;
    let body = json!({"email": "new@example.com", "role": "approver"});
    let made = installation.tell(&admin.token, "POST", "/api/v1/auth/users", &body).await.expect(201);
    let once = made["one_time_password"].as_str().unwrap();

    window.goto("/app/approvals").await;
    window.until("location.pathname === '/app/sign-in'").await;
    assert_eq!(window.value("document.activeElement.id").await, "email");
    window.press("new@example.com").await;
    window.fill("#password", once).await;
    window.click("form .primary").await;
    window.until("location.pathname === '/app/password'").await;
    window.fill("#current", once).await;
    window.fill("#new", PASSWORD).await;
    window.fill("#again", PASSWORD).await;
    window.click("form .primary").await;
    window.until("document.querySelector('nav .count, nav [aria-current]')").await;
    window.goto("/app/approvals").await;
    window.wait_for_text("all caught up").await;
    // Scripts cannot read the session cookie.
    assert_eq!(window.value("document.cookie.includes('windlass_session')").await, false);
    window.click("[aria-label='Sign out']").await;
    window.until("location.pathname === '/app/sign-in'").await;
    window.close_without_errors().await;
}
