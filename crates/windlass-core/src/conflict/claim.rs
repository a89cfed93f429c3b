//! What a resource takes for itself alone, beside its name.

use ipnet::IpNet;

use crate::allocate::Allocation;
use crate::diff::Change;
use crate::resource::{Kind, ResourceKey, Spec, member_name};
use crate::value::Address;

/// Among which resources addresses must not overlap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The networks of the account.
    Networks,
    /// The subnets behind the peers of one network.
    LanSubnets(String),
    /// The addresses of peers and virtual IPs in one network.
    Addresses(String),
}

/// A range of addresses that one resource has for itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Claim {
    /// Among which resources it must not overlap.
    pub scope: Scope,
    /// The addresses; a single one is a range of its full length.
    pub range: IpNet,
}

impl Claim {
    /// What Windlass allocates for a resource, or would if the resource did not declare it.
    pub fn allocated(key: &ResourceKey, allocation: &Allocation) -> Option<Claim> {
        let network = || member_name(&key.name).0.to_owned();
        match key.kind {
            Kind::Network => {
                let cidr = allocation.network(&key.name)?;
                Some(Claim { scope: Scope::Networks, range: cidr.0 })
            }
            Kind::Peer => Some(Claim::address(network(), allocation.peer(&key.name)?)),
            Kind::VirtualIp => Some(Claim::address(network(), allocation.virtual_ip(&key.name)?)),
            _ => None,
        }
    }

    /// One address in a network.
    fn address(network: String, Address(address): Address) -> Claim {
        Claim { scope: Scope::Addresses(network), range: IpNet::from(address) }
    }
}

/// What a spec claims for the resource of this key. What Windlass allocates for it is no claim of the spec.
pub fn claims_of(key: &ResourceKey, spec: &Spec) -> Vec<Claim> {
    let network = || member_name(&key.name).0.to_owned();
    match spec {
        Spec::Network(spec) => {
            spec.cidr.iter().map(|cidr| Claim { scope: Scope::Networks, range: cidr.0 }).collect()
        }
        Spec::Peer(spec) => spec
            .lan_subnets
            .iter()
            .map(|subnet| Claim { scope: Scope::LanSubnets(network()), range: subnet.0 })
            .collect(),
        Spec::VirtualIp(spec) => {
            spec.address.iter().map(|address| Claim::address(network(), *address)).collect()
        }
        _ => Vec::new(),
    }
}

/// What a change claims that its resource does not have yet.
pub fn new_claims(change: &Change) -> Vec<Claim> {
    let claims = |spec: Option<&Spec>| spec.map(|spec| claims_of(&change.key, spec)).unwrap_or_default();
    let before = claims(change.before.as_deref());
    let mut after = claims(change.after.as_deref());
    after.retain(|claim| !before.contains(claim));
    after
}
