//! Live updates of pages.

use crate::harness::{FLEET, Installation, fleet};
use crate::window::Window;

#[tokio::test(flavor = "multi_thread")]
async fn what_one_decides_another_sees_without_loading_the_page_again() {
    let installation = Installation::start().await;
    let (ada, ben) = (installation.admin().await, installation.admin().await);
    let Some(hers) = Window::of(&installation, &ada).await else { return };
    let Some(his) = Window::of(&installation, &ben).await else { return };
    let work = fleet(FLEET);
    let repository = installation.register(&ada, "fleet", &work).await;
    his.goto("/app/approvals").await;
    his.run("window.mark = 'the same page';").await;
    his.wait_for_text("all caught up").await;
    installation.sync(&ada, &repository).await;
    his.until("document.querySelectorAll('input[name=pick]').length === 11").await;
    // The selection stays while other rows disappear.
    his.click("input[name=pick]:not(details *)").await;
    hers.goto("/app/approvals?q=prod").await;
    hers.until("document.querySelectorAll('input[name=pick]').length === 1").await;
    hers.click("input[name=pick]").await;
    hers.click(".decision-bar [value=approve]").await;
    hers.until("document.querySelector('.notice-good')").await;
    his.until("document.querySelectorAll('input[name=pick]').length === 10").await;
    his.until("document.querySelectorAll('input[name=pick]:checked').length === 1").await;
    his.until("document.querySelector('#nav-pending').innerText.trim().startsWith('10')").await;
    assert_eq!(his.value("window.mark").await, "the same page");
    hers.close_without_errors().await;
    his.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_appear_as_they_happen_and_wait_while_they_are_paused() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let Some(window) = Window::of(&installation, &admin).await else { return };
    installation.make_cluster(&admin, "first").await.expect(201);
    window.goto("/app/events").await;
    window.wait_for_text("first").await;
    installation.make_cluster(&admin, "second").await.expect(201);
    window.until("document.querySelector('tr[data-seq]').innerText.includes('second')").await;
    // An opened row stays open.
    window.click("tr[data-seq] summary").await;
    window.click("[data-pause]").await;
    installation.make_cluster(&admin, "third").await.expect(201);
    window.wait_for_text("Paused, 1 new").await;
    assert_eq!(window.value("document.querySelectorAll('tr[data-seq]').length").await, 2);
    window.press("p").await;
    window.until("document.querySelector('tr[data-seq]').innerText.includes('third')").await;
    window.until("document.querySelectorAll('tr[data-seq] details[open]').length === 1").await;
    window.until("document.querySelector('[data-live-state]').textContent === 'Live'").await;
    window.close_without_errors().await;
}
