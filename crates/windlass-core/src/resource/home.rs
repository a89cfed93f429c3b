//! Where resources of each kind stand in fleet.yaml: the one table for reading, writing and telling.

use super::kind::Kind;

/// The section of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    /// The keys from the top.
    pub(crate) section: &'static [&'static str],
    /// For what stands inside a network: the key there.
    pub(crate) member: Option<&'static str>,
    /// The key under which an item of the list form carries its name.
    pub(crate) name_key: &'static str,
}

const NETWORKS: &[&str] = &["sdwan", "networks"];

impl Home {
    pub(crate) const fn of(kind: Kind) -> Home {
        match kind {
            Kind::Template => Home::at(&["templates"]),
            Kind::Module => Home::at(&["modules"]),
            Kind::Node => Home { name_key: "hostname", ..Home::at(&["nodes"]) },
            Kind::Assignment => Home::at(&["assignments"]),
            Kind::Network => Home::at(NETWORKS),
            Kind::Peer => Home { member: Some("peers"), name_key: "host", ..Home::at(NETWORKS) },
            Kind::VirtualIp => Home { member: Some("virtual_ips"), ..Home::at(NETWORKS) },
            Kind::FederationPeer => Home::at(&["federation", "peers"]),
            Kind::Cluster => Home::at(&["clusters"]),
            Kind::ClusterGroup => Home::at(&["cluster_groups"]),
            Kind::Bundle => Home::at(&["bundles"]),
            Kind::NotificationProvider => Home::at(&["notification_providers"]),
            Kind::Alert => Home::at(&["alerts"]),
        }
    }

    /// The key under which items of a section carry their names, or items of a list inside its entries.
    pub(crate) fn name_key_in(section: &[&str], member: Option<&str>) -> &'static str {
        let mut homes = Kind::ALL.iter().map(|kind| Home::of(*kind));
        homes
            .find(|home| home.section == section && home.member == member)
            .map_or("name", |home| home.name_key)
    }

    const fn at(section: &'static [&'static str]) -> Home {
        Home { section, member: None, name_key: "name" }
    }
}
