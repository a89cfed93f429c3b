//! Three hosts become what was approved, stay so, and go on without their server.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::json;
use windlass_api::endpoint::Operation;

use crate::control_plane::ControlPlane;
use crate::host::{NodeHost, start_hosts};

const NODES: [&str; 3] = ["web-1", "web-2", "web-3"];
const PAGE: &str = "/var/www/html/index.html";
const KEPT: &str = "/etc/kept.conf";

/// nginx of the catalogue with a page, a file of the repository, and a file that agents correct.
fn sections(version: &str, greeting: &str) -> String {
    let nodes = NODES.map(|node| format!("  - {{hostname: {node}, template: web}}\n")).concat();
    format!(
        "modules:
  site:
    version: {version}
    depends_on: [nginx@1.26.0]
    config: {{greeting: {greeting}}}
    host:
      files:
        {PAGE}: {{content: \"{{{{ config.greeting }}}} from {{{{ node.hostname }}}}\\n\"}}
        /var/www/html/logo: {{source: files/logo}}
  kept:
    version: 1.0.0
    drift: correct
    host: {{files: {{{KEPT}: {{content: \"kept\\n\"}}}}}}
templates:
  web: {{node_platform: debian-12-amd64, modules: [nginx@1.26.0, site@live, kept@live]}}
nodes:
{nodes}"
    )
}

#[test]
fn three_hosts_become_what_was_approved_and_stay_so_without_their_server() {
    let Some(hosts) = start_hosts(NODES.len()) else { return };
    let mut plane = ControlPlane::start(hosts[0].machine_address());
    plane.work.commit("files/logo", "a logo\n");
    plane.approve_fleet(&sections("1.0.0", "hello"));
    let hosts: Vec<NodeHost> =
        hosts.into_iter().zip(NODES).map(|(host, node)| NodeHost::enrol(host, node, &plane)).collect();
    plane.wait_until_in_sync(NODES.map(|node| (node, 1)));
    for host in &hosts {
        is_what_was_approved(host, "hello");
    }
    drift_is_reported_in_seconds_and_reverted(&plane, &hosts[0]);
    drift_is_corrected_with_before_and_after(&plane, &hosts[1]);
    hosts_go_on_without_their_server_and_catch_up(&mut plane, &hosts);
    plane.stop();
}

/// Packages, files and services are true, and nginx answers on its port.
fn is_what_was_approved(host: &NodeHost, greeting: &str) {
    assert!(host.run("dpkg-query -W -f '${Status}' nginx").ends_with("ok installed"));
    assert_eq!(host.run("systemctl is-active nginx; systemctl is-enabled nginx"), "active\nenabled");
    assert_eq!(host.run(&format!("cat {KEPT}")), "kept");
    let page = host.http_get("/").unwrap();
    let expected = format!("{greeting} from {}\n", host.node);
    assert!(page.starts_with("HTTP/1.1 200 OK") && page.ends_with(&expected), "{page}");
    assert!(host.http_get("/logo").unwrap().ends_with("a logo\n"));
}

fn drift_is_reported_in_seconds_and_reverted(plane: &ControlPlane, host: &NodeHost) {
    fs::write(host.path(PAGE), "by hand\n").unwrap();
    let begun = Instant::now();
    let detail = plane.wait_for_node(&host.node, "drifted");
    // Less than the interval at which agents look: they notice that the file changed.
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!(detail.node.drifted_items, 1, "{detail:?}");
    let drift = plane.drift(&host.node);
    let [item] = drift.items.as_slice() else { panic!("{drift:?}") };
    assert_eq!((item.name.as_str(), item.module.as_str(), item.mode.as_str()), (PAGE, "site", "report"));
    let diff = item.fields[0].diff.as_deref().unwrap();
    assert!(diff.contains("-by hand\n") && diff.contains(&format!("+hello from {}\n", host.node)), "{diff}");
    assert!(host.http_get("/").unwrap().ends_with("by hand\n"), "people decide");

    plane.api().text(plane.api().call(Operation::NodeDriftRevert, &[&host.node]).body(&json!({}))).unwrap();
    plane.wait_for_node(&host.node, "converged");
    assert!(host.http_get("/").unwrap().ends_with(&format!("hello from {}\n", host.node)));
}

fn drift_is_corrected_with_before_and_after(plane: &ControlPlane, host: &NodeHost) {
    fs::write(host.path(KEPT), "by hand\n").unwrap();
    host.wait_for(&format!("grep -qx kept {KEPT}"));
    let event = plane.wait_for_event(&host.node, "agent.corrected", |_| true);
    let text = event.payload.to_string();
    assert!(text.contains("-by hand") && text.contains("+kept"), "before and after: {text}");
    plane.wait_for_node(&host.node, "converged");
}

fn hosts_go_on_without_their_server_and_catch_up(plane: &mut ControlPlane, hosts: &[NodeHost]) {
    plane.kill();
    fs::write(hosts[0].path(KEPT), "while away\n").unwrap();
    hosts[0].wait_for(&format!("grep -qx kept {KEPT}"));
    for host in hosts {
        is_what_was_approved(host, "hello");
    }
    plane.start_again();
    plane.approve_fleet(&sections("1.1.0", "welcome"));
    // Reverting drift was a generation of the first one.
    plane.wait_until_in_sync([(NODES[0], 3), (NODES[1], 2), (NODES[2], 2)]);
    for host in hosts {
        is_what_was_approved(host, "welcome");
    }
    // What happened meanwhile is reported, once.
    let event = plane.wait_for_event(&hosts[0].node, "agent.corrected", |event| {
        event.payload.to_string().contains("while away")
    });
    let events = plane.api().events(0).unwrap();
    let corrections = events.iter().filter(|it| it.kind == "agent.corrected" && it.payload == event.payload);
    assert_eq!(corrections.count(), 1, "{events:?}");
    assert!(hosts[0].agent_log().contains("not connected"), "{}", hosts[0].agent_log());
}
