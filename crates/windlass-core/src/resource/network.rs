//! SD-WAN: networks, their peers and their virtual IPs.

use std::collections::BTreeSet;

use super::key::member_name;
use super::kind::Kind;
use super::needs::{Reference, ResourceSpec, SpecPath};
use crate::diagnostic::{Code, Finding};
use crate::quote::quoted;
use crate::shape::{Decoder, Segment, choice, record};
use crate::value::{Cidr, Hostname, IpAddress, PeerEndpoint};
use crate::yaml::NodeRef;

choice! {
    /// How peers learn where to send traffic.
    pub enum RoutingMode {
        /// Routes are computed by Windlass and written to every peer.
        Static = "static",
        /// Peers speak iBGP; publicly reachable peers reflect routes.
        Ibgp = "ibgp",
    }
}

record! {
    /// A network is an encrypted overlay between nodes.
    pub struct NetworkSpec {
        /// What the network is for, shown to reviewers.
        description: String = String::new() => "Edge fabric",
        /// How peers learn where to send traffic.
        routing_mode: RoutingMode = RoutingMode::Static => "ibgp",
        /// The network's addresses. Default: Windlass allocates a network, which then stays the same.
        cidr: Option<Cidr> = None => "fd12:3456:789a::/64",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
}

impl ResourceSpec for NetworkSpec {
    fn references<'s>(&'s self, _name: &'s str, _visit: &mut dyn FnMut(Reference<'s>)) {}

    fn is_protected(&self) -> bool {
        self.protect
    }
}

record! {
    /// A peer is a node's place in a network.
    pub struct PeerSpec {
        /// Whether others can reach it directly. Such peers are the network's hubs.
        publicly_reachable: bool = false => "true",
        /// The address where others reach it. Default: the address its agent reports.
        endpoint: Option<PeerEndpoint> = None => "203.0.113.7:51820",
        /// Networks behind the peer that others may reach through it.
        lan_subnets: BTreeSet<Cidr> = BTreeSet::new() => "[10.20.0.0/16]",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
}

impl ResourceSpec for PeerSpec {
    fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        let (network, host) = member_name(name);
        visit(Reference::new(Kind::Network, network, SpecPath::Name));
        visit(Reference::new(Kind::Node, host, SpecPath::Name));
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}

record! {
    /// A virtual IP is an address held by one peer of a network and taken over by others when that one fails.
    pub struct VirtualIpSpec {
        /// The peer that holds the address while it is healthy.
        primary_holder: Hostname => "edge-tokyo-01",
        /// The peers that take over, in this order.
        failover_holders: Vec<Hostname> = Vec::new() => "[edge-tokyo-02]",
        /// The address. Default: Windlass allocates one of the network's, which then stays the same.
        address: Option<IpAddress> = None => "fd12:3456:789a::100",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    check VirtualIpSpec::check
}

impl VirtualIpSpec {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let mut seen = BTreeSet::from([&self.primary_holder]);
        let doubled = self.failover_holders.iter().position(|holder| !seen.insert(holder));
        if let Some(index) = doubled {
            let item = node.get("failover_holders").and_then(|holders| holders.item(index));
            let message =
                format!("{} already holds this address", quoted(self.failover_holders[index].as_str()));
            let finding = Finding::new(Code::BadValue, item.unwrap_or(node).span(), message);
            decoder.within(Segment::Key("failover_holders"), |decoder| {
                decoder.report_within(Segment::Index(index), finding.help("list each holder once"));
            });
        }
        doubled.is_none()
    }
}

impl ResourceSpec for VirtualIpSpec {
    fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        let (network, _) = member_name(name);
        visit(Reference::new(Kind::Network, network, SpecPath::Name));
        let peer = |host: &Hostname| format!("{network}/{host}");
        visit(Reference::new(Kind::Peer, peer(&self.primary_holder), SpecPath::Field("primary_holder")));
        for (index, holder) in self.failover_holders.iter().enumerate() {
            visit(Reference::new(Kind::Peer, peer(holder), SpecPath::Item("failover_holders", index)));
        }
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}
