//! What a resource takes for itself alone, beside its name.

use ipnet::IpNet;

use crate::allocate::Allocation;
use crate::diff::Change;
use crate::resource::{Kind, ResourceKey, Spec, member_name};
use crate::value::IpAddress;

/// Among which resources addresses must not overlap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ClaimScope {
    /// The networks of the account.
    Networks,
    /// The subnets behind the peers of one network.
    LanSubnets(String),
    /// The addresses of peers and virtual IPs in one network.
    Addresses(String),
}

/// A range of addresses that one resource has for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AddressClaim {
    /// Among which resources it must not overlap.
    pub scope: ClaimScope,
    /// The addresses; a single one is a range of its full length.
    pub range: IpNet,
}

impl AddressClaim {
    /// What Windlass allocates for a resource, or would if the resource did not declare it.
    pub fn allocated(key: &ResourceKey, allocation: &Allocation) -> Option<AddressClaim> {
        let network = || member_name(&key.name).0.to_owned();
        match key.kind {
            Kind::Network => {
                let cidr = allocation.network(&key.name)?;
                Some(AddressClaim { scope: ClaimScope::Networks, range: cidr.0 })
            }
            Kind::Peer => Some(AddressClaim::address(network(), allocation.peer(&key.name)?)),
            Kind::VirtualIp => Some(AddressClaim::address(network(), allocation.virtual_ip(&key.name)?)),
            Kind::Template
            | Kind::Module
            | Kind::ModuleVersion
            | Kind::Node
            | Kind::Assignment
            | Kind::FederationPeer
            | Kind::Cluster
            | Kind::ClusterGroup
            | Kind::Bundle
            | Kind::NotificationProvider
            | Kind::Alert => None,
        }
    }

    /// One address in a network.
    fn address(network: String, IpAddress(address): IpAddress) -> AddressClaim {
        AddressClaim { scope: ClaimScope::Addresses(network), range: IpNet::from(address) }
    }
}

/// What a spec claims for the resource of this key. What Windlass allocates for it is no claim of the spec.
pub fn claims_of(key: &ResourceKey, spec: &Spec) -> Vec<AddressClaim> {
    let network = || member_name(&key.name).0.to_owned();
    match spec {
        Spec::Network(spec) => {
            spec.cidr.iter().map(|cidr| AddressClaim { scope: ClaimScope::Networks, range: cidr.0 }).collect()
        }
        Spec::Peer(spec) => spec
            .lan_subnets
            .iter()
            .map(|subnet| AddressClaim { scope: ClaimScope::LanSubnets(network()), range: subnet.0 })
            .collect(),
        Spec::VirtualIp(spec) => {
            spec.address.iter().map(|address| AddressClaim::address(network(), *address)).collect()
        }
        Spec::Template(_)
        | Spec::Module(_)
        | Spec::ModuleVersion(_)
        | Spec::Node(_)
        | Spec::Assignment(_)
        | Spec::FederationPeer(_)
        | Spec::Cluster(_)
        | Spec::ClusterGroup(_)
        | Spec::Bundle(_)
        | Spec::NotificationProvider(_)
        | Spec::Alert(_) => Vec::new(),
    }
}

/// What a change claims that its resource does not have yet.
pub fn new_claims(change: &Change) -> Vec<AddressClaim> {
    let claims = |spec: Option<&Spec>| spec.map(|spec| claims_of(&change.key, spec)).unwrap_or_default();
    let before = claims(change.before.as_deref());
    let mut after = claims(change.after.as_deref());
    after.retain(|claim| !before.contains(claim));
    after
}
