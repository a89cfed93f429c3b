//! How the API calls the kinds of resources.

use windlass_core::resource::Kind;

macro_rules! nouns {
    ($($(#[doc = $doc:literal])* $noun:ident $kind:ident $path:literal $singular:literal $plural:literal,)*) => {
        /// A kind of resource as the API calls it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Noun {
            $($(#[doc = $doc])* $noun,)*
        }

        impl Noun {
            /// Every noun.
            pub const ALL: &'static [Noun] = &[$(Noun::$noun),*];

            /// The kind of resource.
            pub const fn kind(self) -> Kind {
                match self { $(Noun::$noun => Kind::$kind),* }
            }

            /// The path below `/api/v1/system/`.
            pub const fn path(self) -> &'static str {
                match self { $(Noun::$noun => $path),* }
            }

            /// The key under which one is answered.
            pub const fn singular(self) -> &'static str {
                match self { $(Noun::$noun => $singular),* }
            }

            /// The key under which many are answered.
            pub const fn plural(self) -> &'static str {
                match self { $(Noun::$noun => $plural),* }
            }
        }
    };
}

nouns! {
    /// Templates.
    NodeTemplate Template "node_templates" "node_template" "node_templates",
    /// Modules.
    NodeModule Module "node_modules" "node_module" "node_modules",
    /// Module versions.
    NodeModuleVersion ModuleVersion "node_module_versions" "node_module_version" "node_module_versions",
    /// Nodes.
    Node Node "nodes" "node" "nodes",
    /// Nodes, as the machines they are.
    Instance Node "instances" "instance" "instances",
    /// Assignments.
    Assignment Assignment "node_module_assignments" "node_module_assignment" "node_module_assignments",
    /// Networks.
    Network Network "sdwan/networks" "network" "networks",
    /// Peers.
    Peer Peer "sdwan/peers" "peer" "peers",
    /// Virtual IPs.
    VirtualIp VirtualIp "sdwan/virtual_ips" "virtual_ip" "virtual_ips",
    /// Federation peers.
    FederationPeer FederationPeer "federation/peers" "federation_peer" "federation_peers",
    /// Clusters.
    Cluster Cluster "clusters" "cluster" "clusters",
    /// Cluster groups.
    ClusterGroup ClusterGroup "cluster_groups" "cluster_group" "cluster_groups",
    /// Bundles.
    Bundle Bundle "bundles" "bundle" "bundles",
    /// Notification providers.
    NotificationProvider NotificationProvider
        "notification_providers" "notification_provider" "notification_providers",
    /// Alerts.
    Alert Alert "alerts" "alert" "alerts",
}

impl Noun {
    /// The noun of a kind.
    pub const fn of(kind: Kind) -> Noun {
        match kind {
            Kind::Template => Noun::NodeTemplate,
            Kind::Module => Noun::NodeModule,
            Kind::ModuleVersion => Noun::NodeModuleVersion,
            Kind::Node => Noun::Node,
            Kind::Assignment => Noun::Assignment,
            Kind::Network => Noun::Network,
            Kind::Peer => Noun::Peer,
            Kind::VirtualIp => Noun::VirtualIp,
            Kind::FederationPeer => Noun::FederationPeer,
            Kind::Cluster => Noun::Cluster,
            Kind::ClusterGroup => Noun::ClusterGroup,
            Kind::Bundle => Noun::Bundle,
            Kind::NotificationProvider => Noun::NotificationProvider,
            Kind::Alert => Noun::Alert,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_a_noun() {
        for kind in Kind::ALL {
            assert_eq!(Noun::of(*kind).kind(), *kind);
        }
    }
}
