//! Generates realistic fleets of any size.
//!
//! A fleet has a few templates and modules, and sites of up to [`SITE_NODES`] nodes. Every site has a network in which
//! each fourth of its nodes is a peer (the first two are hubs, some announce a subnet), one virtual IP for each ten
//! peers, and an assignment on each eighth node. All of them validate without errors and without warnings.
//!
//! Pure and deterministic: the same arguments give the same bytes on every machine.

use std::ops::Range;

pub use crate::form::FleetForm;
use crate::write::{EntryName, FleetWriter};

/// The account of every generated fleet.
pub const ACCOUNT: &str = "acme";

/// The number of nodes of one site, which has one included file and one network.
pub const SITE_NODES: usize = 1000;

/// How many nodes, in [`FleetForm::List`], make one file just below the limit of 1 MiB.
pub const LARGEST_FILE_NODES: usize = 8000;

/// A version of a fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FleetEdition {
    /// The earlier version: one node in a hundred has another size than in [`FleetEdition::Current`].
    Previous,
    /// The current version.
    Current,
}

/// A file of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetText {
    /// Its path, relative to the fleet's root.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// A fleet that declares nothing.
pub fn nothing() -> FleetText {
    FleetText { path: "fleet.yaml".to_owned(), text: format!("version: 1\naccount: {ACCOUNT}\n") }
}

/// A fleet with this many nodes in one file.
pub fn one_file(nodes: usize, form: FleetForm, edition: FleetEdition) -> FleetText {
    let mut root = nothing();
    let mut out = FleetWriter::new(form);
    write_shared(&mut out);
    write_sites(&mut out, &sites(0..nodes), edition);
    root.text.push_str(&out.finish());
    root
}

/// A fleet with exactly this many resources: templates and modules in fleet.yaml, each site in an included file. The
/// number is reached with nodes outside any network.
pub fn spread(resources: usize, form: FleetForm, edition: FleetEdition) -> Vec<FleetText> {
    let mut left = resources.saturating_sub(ROLES.len() + 1 + MODULES.len());
    let site_resources = Site { number: 0, nodes: 0..SITE_NODES }.resources();
    let count = left / site_resources;
    left -= count * site_resources;

    let mut root = nothing();
    if count > 0 {
        root.text.push_str("include: [\"fleet.d/*.yaml\"]\n");
    }
    let mut out = FleetWriter::new(form);
    write_shared(&mut out);
    out.line(0, "nodes:");
    let spare = Site { number: count, nodes: count * SITE_NODES..count * SITE_NODES + left };
    spare.write_nodes(&mut out, edition);
    root.text.push_str(&out.finish());

    let mut files = vec![root];
    for site in sites(0..count * SITE_NODES) {
        let mut out = FleetWriter::new(form);
        let path = format!("fleet.d/site-{:03}.yaml", site.number);
        write_sites(&mut out, &[site], edition);
        files.push(FleetText { path, text: out.finish() });
    }
    files
}

/// Cities with a site, and their regions.
const CITIES: [(&str, &str); 8] = [
    ("tokyo", "ap-tokyo-1"),
    ("osaka", "ap-osaka-1"),
    ("london", "eu-west-2"),
    ("paris", "eu-west-3"),
    ("berlin", "eu-central-1"),
    ("dallas", "us-south-1"),
    ("denver", "us-west-3"),
    ("sydney", "ap-south-2"),
];

/// Templates that nodes are built from, and the module each adds.
const ROLES: [(&str, &str); 6] = [
    ("cdn", "nginx-public@1.2.0"),
    ("dns", "resolver@2.0.1"),
    ("cache", "object-cache@0.9.4"),
    ("relay", "relay@3.1.0"),
    ("logs", "log-shipper@1.0.7"),
    ("metrics", "node-metrics@1.8.2"),
];

/// Modules, their versions, the setting each has and the package it installs.
const MODULES: [(&str, &str, &str, &str); 6] = [
    ("nginx-public", "1.2.0", "workers", "nginx"),
    ("resolver", "2.0.1", "threads", "unbound"),
    ("object-cache", "0.9.4", "shards", "varnish"),
    ("relay", "3.1.0", "sessions", "coturn"),
    ("log-shipper", "1.0.7", "batch", "vector"),
    ("node-metrics", "1.8.2", "interval", "prometheus-node-exporter"),
];

fn write_shared(out: &mut FleetWriter) {
    out.line(0, "templates:");
    out.open_entry(2, EntryName("name", "base"));
    out.line(4, "description: What every machine has");
    out.line(4, "node_platform: ubuntu-24.04-amd64");
    out.line(4, "modules: [system-base@1.0.0, security-hardening@1.0.0, chrony@4.3.0]");
    for (role, module) in ROLES {
        out.open_entry(2, EntryName("name", role));
        out.line(4, "extends: base");
        out.line(4, &format!("modules: [{module}]"));
        out.line(4, &format!("metadata: {{purpose: {role}, tier: 2}}"));
    }
    out.line(0, "modules:");
    for module in MODULES {
        write_module(out, module);
    }
}

fn write_module(out: &mut FleetWriter, (name, version, setting, package): (&str, &str, &str, &str)) {
    out.open_entry(2, EntryName("name", name));
    out.line(4, &format!("version: {version}"));
    out.line(4, "depends_on: [system-base@1.0.0]");
    out.line(4, &format!("config: {{{setting}: 4}}"));
    out.line(4, "host:");
    out.line(6, &format!("packages: [{package}]"));
    out.line(6, "files:");
    out.line(8, &format!("/etc/windlass/{name}.conf:"));
    out.line(10, "content: |");
    out.line(12, &format!("# what {name} runs with"));
    out.line(12, &format!("{setting} = {{{{ config.{setting} }}}}"));
    out.line(6, "services:");
    out.line(
        8,
        &format!("{package}: {{state: running, enabled: true, reload_on: [/etc/windlass/{name}.conf]}}"),
    );
}

/// A site: nodes with a common network.
struct Site {
    number: usize,
    nodes: Range<usize>,
}

fn sites(nodes: Range<usize>) -> Vec<Site> {
    let site =
        |first: usize| Site { number: first / SITE_NODES, nodes: first..(first + SITE_NODES).min(nodes.end) };
    nodes.clone().step_by(SITE_NODES).map(site).collect()
}

fn write_sites(out: &mut FleetWriter, sites: &[Site], edition: FleetEdition) {
    out.line(0, "nodes:");
    sites.iter().for_each(|site| site.write_nodes(out, edition));
    out.line(0, "assignments:");
    sites.iter().for_each(|site| site.write_assignments(out));
    out.line(0, "sdwan:");
    out.line(2, "networks:");
    sites.iter().for_each(|site| site.write_network(out));
}

impl Site {
    /// The number of resources of the site and its network.
    fn resources(&self) -> usize {
        let peers = self.peers().count();
        self.nodes.len() + self.assigned().count() + 1 + peers + peers.div_ceil(10)
    }

    fn peers(&self) -> impl Iterator<Item = usize> {
        self.nodes.clone().step_by(4)
    }

    fn assigned(&self) -> impl Iterator<Item = usize> {
        self.nodes.clone().step_by(8)
    }

    fn hostname(&self, node: usize) -> String {
        format!("{}-{node:05}", CITIES[self.number % CITIES.len()].0)
    }

    fn write_nodes(&self, out: &mut FleetWriter, edition: FleetEdition) {
        let (_, region) = CITIES[self.number % CITIES.len()];
        for node in self.nodes.clone() {
            let (template, _) = ROLES[node % ROLES.len()];
            let size = match (edition, node % 100) {
                (FleetEdition::Current, 50) => "t3-large",
                _ => "t3-small",
            };
            let rack = node / 20;
            let fields = format!(
                "template: {template}, region: {region}, instance_type: {size}, labels: {{rack: {rack}}}"
            );
            out.entry(2, EntryName("hostname", &self.hostname(node)), &fields);
        }
    }

    fn write_assignments(&self, out: &mut FleetWriter) {
        for node in self.assigned() {
            let (module, _, setting, _) = MODULES[(node / 8) % MODULES.len()];
            let name = format!("{}:{module}", self.hostname(node));
            out.entry(2, EntryName("name", &name), &format!("config: {{{setting}: {}}}", 2 + node % 7));
        }
    }

    fn write_network(&self, out: &mut FleetWriter) {
        let number = self.number;
        out.open_entry(4, EntryName("name", &format!("fabric-{number:03}")));
        out.line(6, "routing_mode: ibgp");
        out.line(6, &format!("cidr: fd12:{number:x}::/64"));
        out.line(6, "peers:");
        for (index, node) in self.peers().enumerate() {
            out.entry(8, EntryName("host", &self.hostname(node)), &peer_fields(index));
        }
        out.line(6, "virtual_ips:");
        let peers: Vec<usize> = self.peers().collect();
        for (index, holders) in peers.chunks(10).enumerate() {
            let hosts: Vec<String> = holders.iter().take(3).map(|node| self.hostname(*node)).collect();
            let fields = format!(
                "primary_holder: {}, failover_holders: [{}], address: \"fd12:{number:x}::{:x}\"",
                hosts[0],
                hosts[1..].join(", "),
                0x100 + index,
            );
            out.entry(8, EntryName("name", &format!("front-{index:02}")), &fields);
        }
    }
}

fn peer_fields(index: usize) -> String {
    match index {
        0 | 1 => format!("publicly_reachable: true, endpoint: \"203.0.113.{}:51820\"", index + 1),
        _ if index.is_multiple_of(16) => format!("lan_subnets: [10.{}.0.0/16]", index / 16),
        _ => String::new(),
    }
}
