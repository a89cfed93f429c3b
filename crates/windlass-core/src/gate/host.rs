//! What a change becomes part of: whoever attaches something to a resource changes that resource.

use super::identity::RepositoryIdentity;
use crate::resource::{Kind, ResourceKey, Spec, member_name};

/// A resource of another repository that a change attaches something to. The rules that restrain changes of the host hold
/// for what is attached to it.
#[derive(Clone, Copy, Debug)]
pub struct HostResource<'a> {
    /// Which resource.
    pub key: &'a ResourceKey,
    /// The repository that owns it.
    pub owner: RepositoryIdentity<'a>,
    /// What it is.
    pub spec: &'a Spec,
    /// The file that declares it, as far as it is known.
    pub file: Option<&'a str>,
}

/// The resources that a resource is attached to: the node of an assignment, network and node of a peer, the network of a
/// virtual IP, the module of a version. Its name says so, and names never change.
pub fn hosts_of(key: &ResourceKey) -> Vec<ResourceKey> {
    let network = || ResourceKey::new(Kind::Network, member_name(&key.name).0);
    match key.kind {
        Kind::Assignment => {
            let node = key.name.split_once(':').map(|(node, _)| ResourceKey::new(Kind::Node, node));
            node.into_iter().collect()
        }
        Kind::Peer => vec![network(), ResourceKey::new(Kind::Node, member_name(&key.name).1)],
        Kind::VirtualIp => vec![network()],
        Kind::ModuleVersion => {
            let module = key.name.split_once('@').map(|(module, _)| ResourceKey::new(Kind::Module, module));
            module.into_iter().collect()
        }
        Kind::Template
        | Kind::Module
        | Kind::Node
        | Kind::Network
        | Kind::FederationPeer
        | Kind::Cluster
        | Kind::ClusterGroup
        | Kind::Bundle
        | Kind::NotificationProvider
        | Kind::Alert => Vec::new(),
    }
}
