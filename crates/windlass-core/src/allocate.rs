//! Allocates addresses that a fleet leaves out: address ranges of networks, and addresses in networks.
//!
//! Every address is derived from the account and the names, so nothing is stored, and unrelated changes do not move an
//! address. Only if two names get the same address, the one that sorts later gets another. Specs are not changed:
//! allocated addresses are looked up separately.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv6Net};

use crate::accepted::Accepted;
use crate::digest::Digest;
use crate::id::AccountId;
use crate::resource::{Kind, Spec, member_name};
use crate::value::{Cidr, IpAddress};

/// How often another hash is tried before the rest is searched in order. Even if half of all addresses are taken, that
/// many attempts fail only once in four billion cases.
const MAX_TRIES: u32 = 32;

/// The addresses of an account's networks: declared and allocated ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Allocation {
    networks: BTreeMap<String, Cidr>,
    addresses: BTreeMap<(Kind, String), IpAddress>,
}

impl Allocation {
    /// The address range of a network. `None` if the network does not exist, or no range is left.
    pub fn network(&self, name: &str) -> Option<Cidr> {
        self.networks.get(name).copied()
    }

    /// The address of a peer, named `network/host`. `None` if the peer does not exist, or its network is full.
    pub fn peer(&self, name: &str) -> Option<IpAddress> {
        self.address(Kind::Peer, name)
    }

    /// The address of a virtual IP, named `network/name`. `None` if the virtual IP does not exist, or its network is
    /// full.
    pub fn virtual_ip(&self, name: &str) -> Option<IpAddress> {
        self.address(Kind::VirtualIp, name)
    }

    fn address(&self, kind: Kind, name: &str) -> Option<IpAddress> {
        self.addresses.get(&(kind, name.to_owned())).copied()
    }
}

/// Allocates the addresses that the accepted resources of an account leave out.
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
    // Peers first: there are more of them, and moving a virtual IP is less disruptive.
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

/// Whether a network overlaps one of these.
fn overlaps_any(network: Ipv6Net, claimed: &BTreeSet<Ipv6Net>) -> bool {
    let around = |length: u8| Ipv6Net::new_assert(network.addr(), length).trunc();
    let begins_inside =
        Ipv6Net::new_assert(network.network(), 0)..=Ipv6Net::new_assert(network.broadcast(), 128);
    (0..=network.prefix_len()).any(|length| claimed.contains(&around(length)))
        || claimed.range(begins_inside).next().is_some()
}

/// A /64 of the unique local addresses (fd00::/8), with 56 bits of the hash.
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

/// The free addresses of one network.
struct Pool {
    network: IpAddr,
    /// The first and last address of a host, counted from the network's own.
    first: u128,
    last: u128,
    taken: BTreeSet<IpAddr>,
    /// All addresses before this one were taken at the last search; addresses are never released.
    searched: u128,
}

impl Pool {
    fn new(Cidr(cidr): Cidr) -> Pool {
        let host_bits = u32::from(cidr.max_prefix_len() - cidr.prefix_len());
        let last = u128::MAX.checked_shr(128 - host_bits).unwrap_or(0);
        let (first, last) = match (cidr, host_bits) {
            // With one or two addresses, hosts may use all of them (RFC 3021, RFC 6164).
            (_, 0 | 1) => (0, last),
            // The first is the network's address and the last is the broadcast address.
            (IpNet::V4(_), _) => (1, last - 1),
            // The first is the subnet-router anycast address.
            (IpNet::V6(_), _) => (1, last),
        };
        Pool { network: cidr.network(), first, last, taken: BTreeSet::new(), searched: first }
    }

    /// Takes an address for a peer or virtual IP. Peers prefer the lower half and virtual IPs the upper one, so that
    /// they do not displace each other while there is room.
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
