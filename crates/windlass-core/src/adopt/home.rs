//! Where resources of each kind stand in a file.

use crate::resource::Kind;

/// The section of a kind.
#[derive(Clone, Copy, Debug)]
pub(super) struct Home {
    /// The keys from the top.
    pub(super) section: &'static [&'static str],
    /// For what stands inside a network: the key there.
    pub(super) member: Option<&'static str>,
    /// The key under which an item of the list form carries its name.
    pub(super) name_key: &'static str,
}

impl Home {
    pub(super) fn of(kind: Kind) -> Home {
        let home = |section, name_key| Home { section, member: None, name_key };
        let networks: &[&str] = &["sdwan", "networks"];
        match kind {
            Kind::Template => home(&["templates"], "name"),
            Kind::Module => home(&["modules"], "name"),
            Kind::Node => home(&["nodes"], "hostname"),
            Kind::Assignment => home(&["assignments"], "name"),
            Kind::Network => home(networks, "name"),
            Kind::Peer => Home { member: Some("peers"), ..home(networks, "host") },
            Kind::VirtualIp => Home { member: Some("virtual_ips"), ..home(networks, "name") },
            Kind::FederationPeer => home(&["federation", "peers"], "name"),
            Kind::Cluster => home(&["clusters"], "name"),
            Kind::ClusterGroup => home(&["cluster_groups"], "name"),
            Kind::Bundle => home(&["bundles"], "name"),
        }
    }
}
