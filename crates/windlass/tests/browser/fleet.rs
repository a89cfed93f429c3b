//! The fleet: manual changes, and the diagram of a network.

use crate::seed;
use crate::window::Window;

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_hand_is_seen_reverted_and_gone() {
    let scene = seed::small().await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    window.goto("/app/drift").await;
    window.wait_for_text("tokyo-00003").await;
    window.wait_for_text("t3-xlarge").await;
    window.wait_for_text("ada@example.com").await;
    let form = "form[action$='/revert']:has([value=tokyo-00003]) button";
    window.click(form).await;
    window.until("document.querySelector('.notice-good')").await;
    // The proposal of the revert is shown beside the difference until someone approves it.
    let link = "[...document.querySelectorAll('.difference')].find(card => \
                card.innerText.includes('tokyo-00003'))?.querySelector('a.state[href*=\"/app/proposals/\"]')";
    window.until(link).await;
    window.run(&format!("({link}).click()")).await;
    window.until("location.pathname.startsWith('/app/proposals/')").await;
    window.click("#proposal-decide .primary").await;
    window.until("document.querySelector('.notice-good')").await;
    window.wait_for_text("Applied").await;
    window.goto("/app/drift").await;
    window.until("!document.querySelector('#differences').innerText.includes('tokyo-00003')").await;
    let accepted = scene.installation.get(&scene.admin, "/api/v1/system/nodes/tokyo-00003").await;
    assert_eq!(accepted["node"]["spec"]["instance_type"], "t3-small", "{accepted}");
    window.close_without_errors().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_is_drawn_with_its_peers_hubs_and_virtual_ips_and_told_in_a_table() {
    let scene = seed::small().await;
    let Some(window) = Window::of(&scene.installation, &scene.admin).await else { return };
    let peers = scene.installation.get(&scene.admin, "/api/v1/system/sdwan/peers?limit=500").await;
    let peers = peers["sdwan_peers"].as_array().or(peers["peers"].as_array()).unwrap();
    let of_network = |peer: &&serde_json::Value| peer["name"].as_str().unwrap().starts_with("fabric-000/");
    let count = peers.iter().filter(of_network).count();
    assert!(count > 0, "{peers:?}");
    window.goto("/app/topology").await;
    window.click("a[href='/app/topology/fabric-000']").await;
    window.until("document.querySelector('svg.picture')").await;
    let drawn = window.value("document.querySelectorAll('svg.picture .dots > *').length").await;
    assert_eq!(drawn, count);
    assert!(
        window.value("document.querySelectorAll('svg.picture .dot.hub').length").await.as_u64() > Some(0)
    );
    assert!(window.value("document.querySelectorAll('svg.picture .tunnel').length").await.as_u64() > Some(0));
    assert!(window.value("document.querySelectorAll('svg.picture .badge').length").await.as_u64() > Some(0));
    let rows = window.value("document.querySelectorAll('main table tbody tr').length").await;
    assert!(rows.as_u64() >= drawn.as_u64(), "{rows} rows for {drawn} peers");
    window.close_without_errors().await;
}
