//! What Windlass allocates where a fleet leaves it out: networks' addresses, and addresses in networks.
//!
//! Everything follows from the account and the names, so nothing is stored and nothing moves when something unrelated
//! comes or goes. Only where two names meet on the same address does the one that sorts later step aside. Nothing here
//! changes a spec: what is allocated is looked up beside it.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};

use crate::accepted::Accepted;
use crate::digest::Digest;
use crate::id::AccountId;
use crate::resource::{Kind, Spec, member_name};
use crate::value::{Cidr, IpAddress};

/// How often a name may try for another place before the rest is searched in order. Even where half of everything is
/// taken, that many tries fail once in four thousand million.
const MAX_TRIES: u32 = 32;

/// The addresses of an account's networks: those that are declared, and those that were allocated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocation {
    networks: BTreeMap<String, Cidr>,
    addresses: BTreeMap<(Kind, String), IpAddress>,
}

impl Allocation {
    /// The addresses of a network. Nothing if there is no such network, or nothing was left for it.
    pub fn network(&self, name: &str) -> Option<Cidr> {
        self.networks.get(name).copied()
    }

    /// The address of a peer, named `network/host`. Nothing if there is no such peer, or its network is full.
    pub fn peer(&self, name: &str) -> Option<IpAddress> {
        self.address(Kind::Peer, name)
    }

    /// The address of a virtual IP, named `network/name`. Nothing if there is no such virtual IP, or its network is
    /// full.
    pub fn virtual_ip(&self, name: &str) -> Option<IpAddress> {
        self.address(Kind::VirtualIp, name)
    }

    fn address(&self, kind: Kind, name: &str) -> Option<IpAddress> {
        self.addresses.get(&(kind, name.to_owned())).copied()
    }
}

/// Allocates what the accepted resources of an account leave out.
pub fn allocate(account_id: &AccountId, accepted: &Accepted) -> Allocation {
    let mut allocation = Allocation { networks: networks(account_id, accepted), addresses: BTreeMap::new() };
    let mut pools: BTreeMap<&str, Pool> =
        allocation.networks.iter().map(|(name, cidr)| (name.as_str(), Pool::new(*cidr))).collect();
    let mut waiting = Vec::new();
    for (name, resource) in accepted.resources.of_kind(Kind::VirtualIp) {
        let declared = match resource.spec.as_ref() {
            Spec::VirtualIp(spec) => spec.address,
            _ => None,
        };
        let Some(address) = declared else {
            waiting.push((Kind::VirtualIp, name));
            continue;
        };
        allocation.addresses.insert((Kind::VirtualIp, name.to_owned()), address);
        if let Some(pool) = pools.get_mut(member_name(name).0) {
            pool.taken.insert(address.0);
        }
    }
    // Peers first: there are more of them, and a virtual IP has less reason to be where it is.
    let peers = accepted.resources.of_kind(Kind::Peer).map(|(name, _)| (Kind::Peer, name));
    for (kind, name) in peers.chain(waiting) {
        let pool = pools.get_mut(member_name(name).0);
        if let Some(address) = pool.and_then(|pool| pool.take(account_id, kind, name)) {
            allocation.addresses.insert((kind, name.to_owned()), address);
        }
    }
    allocation
}

fn networks(account_id: &AccountId, accepted: &Accepted) -> BTreeMap<String, Cidr> {
    let mut found: BTreeMap<String, Cidr> = BTreeMap::new();
    let mut waiting = Vec::new();
    for (name, resource) in accepted.resources.of_kind(Kind::Network) {
        let declared = match resource.spec.as_ref() {
            Spec::Network(spec) => spec.cidr,
            _ => None,
        };
        match declared {
            Some(cidr) => {
                found.insert(name.to_owned(), cidr);
            }
            None => waiting.push(name),
        }
    }
    let mut claimed: BTreeSet<Ipv6Net> = found.values().filter_map(as_v6).collect();
    for name in waiting {
        let mut tries = (0..MAX_TRIES)
            .map(|attempt| local_network(hash(&["network", account_id.as_str(), name], attempt)));
        if let Some(network) = tries.find(|network| !overlaps_any(*network, &claimed)) {
            claimed.insert(network);
            found.insert(name.to_owned(), Cidr(IpNet::V6(network)));
        }
    }
    found
}

fn as_v6(cidr: &Cidr) -> Option<Ipv6Net> {
    match cidr.0 {
        IpNet::V6(network) => Some(network),
        IpNet::V4(_) => None,
    }
}

/// Whether a network shares addresses with any of these: it lies in one of them, or one of them in it.
fn overlaps_any(network: Ipv6Net, claimed: &BTreeSet<Ipv6Net>) -> bool {
    let around = |length: u8| Ipv6Net::new_assert(network.addr(), length).trunc();
    let begins_inside =
        Ipv6Net::new_assert(network.network(), 0)..=Ipv6Net::new_assert(network.broadcast(), 128);
    (0..=network.prefix_len()).any(|length| claimed.contains(&around(length)))
        || claimed.range(begins_inside).next().is_some()
}

/// A /64 of the addresses that everyone may use at home (fd00::/8), with 56 bits of the hash.
fn local_network(hash: u128) -> Ipv6Net {
    let bits = (0xfd_u128 << 120) | ((hash >> 72) << 64);
    Ipv6Net::new_assert(Ipv6Addr::from_bits(bits), 64)
}

fn hash(parts: &[&str], attempt: u32) -> u128 {
    let attempt = attempt.to_be_bytes();
    let parts = ["windlass-allocation-1"].iter().chain(parts).map(|part| part.as_bytes());
    let digest = Digest::of_parts(parts.chain([attempt.as_slice()]));
    digest.as_bytes().iter().take(16).fold(0, |bits, byte| (bits << 8) | u128::from(*byte))
}

/// The addresses of one network that are still to be had.
struct Pool {
    network: IpAddr,
    /// The first and last address that a host may have, counted from the network's own.
    first: u128,
    last: u128,
    taken: BTreeSet<IpAddr>,
    /// Everything before was taken when it was last looked at; what is taken is never given back.
    searched: u128,
}

impl Pool {
    fn new(Cidr(cidr): Cidr) -> Pool {
        let host_bits = u32::from(cidr.max_prefix_len() - cidr.prefix_len());
        let last = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
        let (first, last) = match (cidr, host_bits) {
            // One or two addresses are all there is: RFC 3021 and RFC 6164 give them to hosts.
            (_, 0 | 1) => (0, last),
            // The first names the network and the last everyone in it.
            (IpNet::V4(_), _) => (1, last - 1),
            // The first is that of any router.
            (IpNet::V6(_), _) => (1, last),
        };
        Pool { network: cidr.network(), first, last, taken: BTreeSet::new(), searched: first }
    }

    /// Takes an address for a peer or virtual IP. Peers try the lower half and virtual IPs the upper one, so that
    /// while there is room, neither can move the other.
    fn take(&mut self, account_id: &AccountId, kind: Kind, name: &str) -> Option<IpAddress> {
        let middle = self.first + (self.last - self.first) / 2;
        let (from, to) = match kind {
            Kind::VirtualIp if middle < self.last => (middle + 1, self.last),
            _ => (self.first, middle),
        };
        let place =
            |attempt| from + hash(&[kind.slug(), account_id.as_str(), name], attempt) % (to - from + 1);
        let mut tries = (0..MAX_TRIES).map(|attempt| self.at(place(attempt)));
        let free = tries.find(|address| !self.taken.contains(address));
        let address = free.or_else(|| self.search())?;
        self.taken.insert(address);
        Some(IpAddress(address))
    }

    fn search(&mut self) -> Option<IpAddr> {
        while self.taken.contains(&self.at(self.searched)) {
            if self.searched == self.last {
                return None;
            }
            self.searched += 1;
        }
        Some(self.at(self.searched))
    }

    fn at(&self, offset: u128) -> IpAddr {
        match self.network {
            IpAddr::V4(network) => {
                let offset = u32::try_from(offset).unwrap_or(u32::MAX);
                IpAddr::V4(Ipv4Addr::from_bits(network.to_bits() | offset))
            }
            IpAddr::V6(network) => IpAddr::V6(Ipv6Addr::from_bits(network.to_bits() | offset)),
        }
    }
}
