//! Checks networks as a whole: addresses are in range, none is used twice, peers can reach each other.

use std::collections::BTreeMap;

use crate::code::Code;
use crate::manifest::assembly::Assembly;
use crate::quote::quoted;
use crate::resource::{Kind, NetworkSpec, PeerSpec, ResourceKey, Spec, SpecPath, VirtualIpSpec, member_name};
use crate::resource_finding::ResourceFinding;
use crate::value::{Cidr, IpAddress};

#[derive(Default)]
struct CheckedMembers<'a> {
    peers: Vec<(&'a str, &'a PeerSpec)>,
    virtual_ips: Vec<(&'a str, &'a VirtualIpSpec)>,
}

/// Reports problems of networks, their peers and their virtual IPs.
pub(in crate::manifest) fn networks(assembly: &mut Assembly) {
    let mut members: BTreeMap<&str, CheckedMembers<'_>> = BTreeMap::new();
    for (name, declared) in assembly.desired.resources.of_kind(Kind::Peer) {
        if let Spec::Peer(peer) = declared.spec.as_ref() {
            members.entry(member_name(name).0).or_default().peers.push((name, peer));
        }
    }
    for (name, declared) in assembly.desired.resources.of_kind(Kind::VirtualIp) {
        if let Spec::VirtualIp(address) = declared.spec.as_ref() {
            members.entry(member_name(name).0).or_default().virtual_ips.push((name, address));
        }
    }
    let mut remarks = Vec::new();
    let mut claims = Vec::new();
    for (name, declared) in assembly.desired.resources.of_kind(Kind::Network) {
        let Spec::Network(network) = declared.spec.as_ref() else { continue };
        claims.extend(network.cidr.map(|cidr| (cidr, name)));
        if let Some(members) = members.get(name) {
            remarks.extend(hubs(name, members));
            remarks.extend(addresses(network, members));
            remarks.extend(subnets(members));
        }
    }
    remarks.extend(network_overlaps(claims));
    for remark in remarks {
        assembly.add_finding(remark);
    }
}

fn hubs(network: &str, members: &CheckedMembers<'_>) -> Vec<ResourceFinding> {
    let mut remarks = Vec::new();
    if members.peers.len() > 1 && !members.peers.iter().any(|(_, peer)| peer.publicly_reachable) {
        remarks.push(ResourceFinding {
            code: Code::NetworkWithoutHub,
            key: ResourceKey::new(Kind::Network, network),
            path: SpecPath::Name,
            text: String::new(),
            message: format!("no peer of the network {} is publicly reachable", quoted(network)),
            help: "set `publicly_reachable: true` on at least one peer".to_owned(),
        });
    }
    for (name, peer) in &members.peers {
        if let Some(endpoint) = &peer.endpoint
            && !peer.publicly_reachable
        {
            remarks.push(ResourceFinding {
                code: Code::EndpointUnused,
                key: ResourceKey::new(Kind::Peer, *name),
                path: SpecPath::Field("endpoint"),
                text: endpoint.to_string(),
                message: "the endpoint is not used, because the peer is not publicly reachable".to_owned(),
                help: "add `publicly_reachable: true`, or remove `endpoint`".to_owned(),
            });
        }
    }
    remarks
}

fn addresses(network: &NetworkSpec, members: &CheckedMembers<'_>) -> Vec<ResourceFinding> {
    let mut remarks = Vec::new();
    let mut taken: BTreeMap<IpAddress, &str> = BTreeMap::new();
    for (name, virtual_ip) in &members.virtual_ips {
        let Some(address) = virtual_ip.address else { continue };
        let remark = |code, message, help| ResourceFinding {
            code,
            key: ResourceKey::new(Kind::VirtualIp, *name),
            path: SpecPath::Field("address"),
            text: address.to_string(),
            message,
            help,
        };
        if let Some(cidr) = network.cidr
            && !cidr.contains(&address)
        {
            let message = format!("{address} is not inside the network's {cidr}");
            remarks.push(remark(
                Code::AddressOutsideNetwork,
                message,
                "choose an address inside it".to_owned(),
            ));
        }
        if let Some(other) = taken.insert(address, name) {
            let message = format!("{address} is also the address of {}", quoted(member_name(other).1));
            remarks.push(remark(
                Code::AddressTaken,
                message,
                "give each virtual IP its own address".to_owned(),
            ));
        }
    }
    remarks
}

fn subnets(members: &CheckedMembers<'_>) -> Vec<ResourceFinding> {
    let claims: Vec<(Cidr, &str)> = members
        .peers
        .iter()
        .flat_map(|(name, peer)| peer.lan_subnets.iter().map(move |subnet| (*subnet, *name)))
        .collect();
    overlaps(claims)
        .into_iter()
        .filter(|((_, outer), (_, inner))| outer != inner)
        .map(|((outer, owner), (inner, name))| ResourceFinding {
            code: Code::SubnetOverlap,
            key: ResourceKey::new(Kind::Peer, name),
            path: SpecPath::Item("lan_subnets", 0),
            text: inner.to_string(),
            message: format!("{inner} overlaps {outer} of the peer {}", quoted(member_name(owner).1)),
            help: "announce each subnet from only one peer".to_owned(),
        })
        .collect()
}

fn network_overlaps(claims: Vec<(Cidr, &str)>) -> Vec<ResourceFinding> {
    overlaps(claims)
        .into_iter()
        .map(|((outer, owner), (inner, name))| ResourceFinding {
            code: Code::NetworkOverlap,
            key: ResourceKey::new(Kind::Network, name),
            path: SpecPath::Field("cidr"),
            text: inner.to_string(),
            message: format!("{inner} overlaps {outer} of the network {}", quoted(owner)),
            help: "give each network its own addresses".to_owned(),
        })
        .collect()
}

type DeclaredRange<'a> = (Cidr, &'a str);

/// Pairs of claims that overlap. Two networks are disjoint or one contains the other, so after sorting an overlap is
/// always with the last claim that is still open.
fn overlaps<'a>(mut claims: Vec<DeclaredRange<'a>>) -> Vec<(DeclaredRange<'a>, DeclaredRange<'a>)> {
    claims.sort_by_key(|(cidr, name)| (cidr.0.network(), cidr.0.prefix_len(), *name));
    let mut found = Vec::new();
    let mut open: Option<DeclaredRange<'a>> = None;
    for claim in claims {
        match open {
            Some(outer) if outer.0.overlaps(&claim.0) => found.push((outer, claim)),
            _ => open = Some(claim),
        }
    }
    found
}
