//! Diagrams of networks, drawn by the server.

use serde_json::json;

use crate::browser::Browser;
use crate::harness::{FLEET, Installation, fleet};

#[tokio::test(flavor = "multi_thread")]
async fn a_network_is_drawn_with_hubs_peers_virtual_ips_and_how_they_stand() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let text = FLEET.replace("{host: edge-01}", "{host: edge-01, publicly_reachable: true}");
    let work = fleet(&text);
    let repository = installation.register(&admin, "fleet", &work).await;
    let run = installation.sync(&admin, &repository).await;
    let mut browser = Browser::of(&installation, &admin);
    let before = browser.page("/app/topology").await;
    assert!(before.contains("Proposed") && before.contains("href=\"/app/topology/fabric\""), "{before}");
    let planned = browser.page("/app/topology/fabric").await;
    assert!(planned.contains("dot hub proposed") && planned.contains("Create proposed"), "{planned}");
    installation.apply_all(&admin, &run).await;
    let list = browser.page("/app/topology").await;
    assert!(
        list.contains("<strong>2</strong> peers") && list.contains("<strong>1</strong> virtual IP"),
        "{list}"
    );
    let page = browser.page("/app/topology/fabric").await;
    for told in [
        "role=\"img\"",
        "class=\"dot hub in-sync\"",
        "class=\"dot in-sync\"",
        "class=\"tunnel in-sync weight-0\"",
        "virtual IP front, held here",
        "1 hub and 1 peer",
        "/app/resources/peer/fabric%2Fedge-02",
    ] {
        assert!(page.contains(told), "{told}: {page}");
    }
    let address = installation.get(&admin, "/api/v1/system/sdwan/peers/fabric%2Fedge-02").await;
    let address = address["peer"]["allocated"]["address"].as_str().unwrap().to_owned();
    assert!(page.contains(&address), "the table has the whole address {address}: {page}");
    assert_eq!(browser.get("/app/topology/absent").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_network_without_hubs_or_peers_says_what_is_missing() {
    let installation = Installation::start().await;
    let admin = installation.admin().await;
    let mut browser = Browser::of(&installation, &admin);
    assert!(browser.page("/app/topology").await.contains("windlass explain network"));
    let body = json!({"name": "fabric"});
    installation.tell(&admin.token, "POST", "/api/v1/system/sdwan/networks", &body).await.expect(201);
    assert!(browser.page("/app/topology/fabric").await.contains("No peer yet"));
}
