//! Enrolment of a host from the page of its node, and nodes grouped by a label.

use crate::accessibility::violations_in_every_look;
use crate::seed;
use crate::window::Window;

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_enrolled_from_the_page_of_its_node_and_the_command_is_shown_once() {
    let scene = seed::small().await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    let list = scene.installation.get(&scene.admin, "/api/v1/system/node_status?state=unknown").await;
    let name = list["nodes"][0]["name"].as_str().unwrap();
    let page = format!("/app/nodes/{name}");
    window.goto(&page).await;
    window.wait_for_text("Not enrolled").await;
    window.click("form[action$='/enroll'] button").await;
    window.wait_for_text("windlass-agent enroll windlass1.").await;
    window.wait_for_text(&format!("Valid once, for node {name}")).await;
    assert_eq!(window.value("location.pathname + location.search").await, format!("{page}/enroll"));
    window.until("!document.querySelector('[data-copy=enrolment-command]').hidden").await;
    // Other parts are kept current, and the command stays until one leaves the page.
    window.wait_for_text("Token expires").await;
    scene.installation.make_cluster(&scene.admin, "made-meanwhile").await.expect(201);
    window.until("Number(document.querySelector('#enrolment-command').textContent.length) > 100").await;
    let wrong = violations_in_every_look(&window, None).await;
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    window.goto("/app/nodes").await;
    window.run("history.back();").await;
    window.until("!document.body.innerText.includes('windlass1.')").await;

    window.goto(&page).await;
    window.click("form[action$='/revoke'] button").await;
    window.click("[data-confirm-yes]").await;
    window.wait_for_text("Enrolment token revoked").await;
    window.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_waits_is_approved_and_an_agent_is_revoked_after_a_question() {
    let scene = seed::small().await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    window.goto("/app/nodes").await;
    window.click("a[href='/app/enrolment']").await;
    window.wait_for_text("Waiting to join").await;
    window.click("form[action$='/approve'] button").await;
    window.wait_for_text("the agent enrols with its next attempt").await;
    seed::contact_agents(&scene.installation).await;
    let list = scene.installation.get(&scene.admin, "/api/v1/system/node_status?state=converged").await;
    let name = list["nodes"][0]["name"].as_str().unwrap();
    window.goto(&format!("/app/nodes/{name}")).await;
    window
        .run("document.querySelector(\"form[action$='/revoke-agent']\").closest('details').open = true;")
        .await;
    window.click("form[action$='/revoke-agent'] button").await;
    window.wait_for_text(&format!("Revoked the agent of node {name}")).await;
    window.wait_for_text("Not enrolled").await;
    window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_are_filtered_by_state_and_grouped_by_a_label_without_loading_the_page_again() {
    let scene = seed::small().await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    seed::contact_agents(&scene.installation).await;
    window.goto("/app/nodes").await;
    window.wait_for_text("By template").await;
    window.run("window.mark = 'the same page';").await;
    let choose = "const by = document.querySelector('#f-by'); \
                  by.value = [...by.options].find((option) => option.value.startsWith('label:')).value; \
                  by.dispatchEvent(new Event('input', {bubbles: true}));";
    window.run(choose).await;
    window.wait_for_text("By label").await;
    assert_eq!(window.value("window.mark").await, "the same page");
    window.click("#node-states a[href*='state=drifted']").await;
    window.until("document.querySelectorAll('.node-list tbody tr').length === 1").await;
    window.wait_for_text("changed since").await;
    window.click(".node-list [data-open]").await;
    window.wait_for_text("Rendered state").await;
    window.close_without_errors().await;
}
