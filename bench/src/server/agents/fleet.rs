//! The fleet that simulated agents belong to: nodes of one template with one module.

use windlass_testkit::fleet::{ACCOUNT, FleetText};

/// Nodes of one included file: well below the limit of 1 MiB.
const NODES_OF_FILE: usize = 2_000;

/// The file of the repository that changes from round to round.
const CHANGING_FILE: &str = "files/release.txt";

/// The name of a node.
pub(super) fn node_name(number: usize) -> String {
    format!("edge-{number:05}")
}

/// The pattern that matches the names of all nodes.
pub(super) const NODE_PATTERN: &str = "edge-*";

/// The files of the repository with so many nodes.
pub(super) fn repository(nodes: usize) -> Vec<FleetText> {
    let mut files = vec![text("fleet.yaml", &root()), release(0)];
    for (number, first) in (0..nodes).step_by(NODES_OF_FILE).enumerate() {
        let mut nodes_of_file = String::from("nodes:\n");
        for node in first..(first + NODES_OF_FILE).min(nodes) {
            nodes_of_file.push_str(&format!("  {}: {{template: edge}}\n", node_name(node)));
        }
        files.push(text(&format!("fleet.d/nodes-{number:03}.yaml"), &nodes_of_file));
    }
    files
}

/// The content that changes in a round.
pub(super) fn release(round: usize) -> FleetText {
    text(CHANGING_FILE, &format!("release {round}\n").repeat(64))
}

fn root() -> String {
    format!(
        "version: 1\naccount: {ACCOUNT}\ninclude: [\"fleet.d/*.yaml\"]\n\
         modules:\n  site:\n    config: {{workers: 4}}\n    host:\n      directories:\n        /etc/site: {{}}\n      \
         files:\n        /etc/site/site.conf: {{content: \"host {{{{ node.hostname }}}}, workers {{{{ config.workers }}}}\"}}\n        \
         /etc/site/release.txt: {{source: {CHANGING_FILE}}}\n\
         templates:\n  edge: {{node_platform: debian-12-amd64, modules: [site]}}\n"
    )
}

fn text(path: &str, text: &str) -> FleetText {
    FleetText { path: path.to_owned(), text: text.to_owned() }
}
