//! The section of each kind in fleet.yaml: the one table for reading, writing and messages.

use super::kind::Kind;

/// The section of a kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KindSection {
    /// The keys from the top.
    pub(crate) section: &'static [&'static str],
    /// For a member of a network: the key inside the network.
    pub(crate) member: Option<&'static str>,
    /// The key of the name in the list form.
    pub(crate) name_key: &'static str,
}

const NETWORKS: &[&str] = &["sdwan", "networks"];

impl KindSection {
    pub(crate) const fn of(kind: Kind) -> KindSection {
        match kind {
            Kind::Template => KindSection::at(&["templates"]),
            Kind::Module => KindSection::at(&["modules"]),
            Kind::ModuleVersion => KindSection::at(&["module_versions"]),
            Kind::Node => KindSection { name_key: "hostname", ..KindSection::at(&["nodes"]) },
            Kind::Assignment => KindSection::at(&["assignments"]),
            Kind::Network => KindSection::at(NETWORKS),
            Kind::Peer => {
                KindSection { member: Some("peers"), name_key: "host", ..KindSection::at(NETWORKS) }
            }
            Kind::VirtualIp => KindSection { member: Some("virtual_ips"), ..KindSection::at(NETWORKS) },
            Kind::FederationPeer => KindSection::at(&["federation", "peers"]),
            Kind::Cluster => KindSection::at(&["clusters"]),
            Kind::ClusterGroup => KindSection::at(&["cluster_groups"]),
            Kind::Bundle => KindSection::at(&["bundles"]),
            Kind::NotificationProvider => KindSection::at(&["notification_providers"]),
            Kind::Alert => KindSection::at(&["alerts"]),
        }
    }

    /// The key of the name for items of a section, or for members inside its entries.
    pub(crate) fn name_key_in(section: &[&str], member: Option<&str>) -> &'static str {
        let mut homes = Kind::ALL.iter().map(|kind| KindSection::of(*kind));
        homes
            .find(|home| home.section == section && home.member == member)
            .map_or("name", |home| home.name_key)
    }

    const fn at(section: &'static [&'static str]) -> KindSection {
        KindSection { section, member: None, name_key: "name" }
    }
}
