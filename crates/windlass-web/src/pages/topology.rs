//! One network as a diagram, and the same facts as a table.

use askama::Template;

use crate::frame::{Frame, NavEntry};
use crate::topology::{
    Anchor, Dot, Drawing, HeldVirtualIp, HolderRank, LabelText, Peer, Role, TopologyStatus, TunnelLine, draw,
};
use crate::{link, words};

/// The most rows of the table; the list of resources has the rest.
const MAX_ROWS: usize = 500;

/// A virtual IP with its holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VirtualIp {
    /// Its name inside the network.
    pub name: String,
    /// Its address.
    pub address: Option<String>,
    /// The primary holder.
    pub holder: String,
    /// The failover holders, in order.
    pub failover: Vec<String>,
    /// Its state compared with git.
    pub status: TopologyStatus,
}

/// The facts about the network itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkFacts {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: String,
    /// Its routing mode.
    pub routing_mode: String,
    /// Its address range.
    pub cidr: Option<String>,
    /// Its state compared with git.
    pub status: TopologyStatus,
}

/// The page.
#[derive(Clone, Debug, Template)]
#[template(path = "topology.html")]
pub struct TopologyPage {
    /// The frame of the page.
    pub frame: Frame,
    /// The network.
    pub network: NetworkFacts,
    /// Its peers.
    pub peers: Vec<Peer>,
    /// Its virtual IPs.
    pub virtual_ips: Vec<VirtualIp>,
    /// The diagram.
    pub drawing: Drawing,
}

impl TopologyPage {
    /// The page about a network.
    pub fn new(
        frame: Frame,
        network: NetworkFacts,
        peers: Vec<Peer>,
        virtual_ips: Vec<VirtualIp>,
    ) -> TopologyPage {
        let drawing = draw(&peers);
        TopologyPage { frame, network, peers, virtual_ips, drawing }
    }

    pub(crate) fn hubs(&self) -> usize {
        self.peers.iter().filter(|peer| peer.role == Role::Hub).count()
    }

    pub(crate) fn rows(&self) -> &[Peer] {
        &self.peers[..self.peers.len().min(MAX_ROWS)]
    }

    pub(crate) fn hidden_peer_count(&self) -> usize {
        self.peers.len().saturating_sub(MAX_ROWS)
    }

    /// The URL of the list of its peers.
    pub(crate) fn list_url(&self) -> String {
        link::with_query("/app/resources/peers", &[("q", &format!("{}/", self.network.name))])
    }

    pub(crate) fn network_url(&self) -> String {
        link::resource("network", &self.network.name)
    }

    pub(crate) fn member_url(&self, kind: &str, name: &str, status: &TopologyStatus) -> String {
        match status {
            TopologyStatus::Proposed { change, proposal_id } if change == "create" => {
                format!("/app/proposals/{}", link::encoded(proposal_id))
            }
            _ => link::resource(kind, &format!("{}/{name}", self.network.name)),
        }
    }

    pub(crate) fn peer(&self, dot: &Dot) -> &Peer {
        &self.peers[dot.peer]
    }

    pub(crate) fn line_tone(&self, line: &TunnelLine) -> &'static str {
        line.peer.map_or("many", |index| self.peers[index].status.slug())
    }

    /// The thickness of a line: one step for each power of ten.
    pub(crate) fn weight(&self, line: &TunnelLine) -> u32 {
        line.tunnels.max(1).ilog10().min(3)
    }

    pub(crate) fn count_with_status(&self, slug: &str) -> usize {
        self.peers.iter().filter(|peer| peer.status.slug() == slug).count()
    }

    /// The diagram in words, for screen readers.
    pub(crate) fn diagram_text(&self) -> String {
        let hubs = self.hubs();
        format!(
            "{} and {}, each peer with a tunnel to every hub; {}. {} in sync, {} proposed, {} drifted. \
             The table below has every name and address.",
            words::count(hubs, "hub"),
            words::count(self.peers.len() - hubs, "peer"),
            words::count(self.virtual_ips.len(), "virtual IP"),
            self.count_with_status("in-sync"),
            self.count_with_status("proposed"),
            self.count_with_status("drifted"),
        )
    }
}

impl Peer {
    /// The tooltip.
    pub(crate) fn tooltip(&self) -> String {
        let mut parts = vec![self.host.clone()];
        parts.extend(self.address.clone());
        parts.extend(self.region.clone());
        parts.push(self.role_word().to_owned());
        parts.push(self.status.text());
        parts.join(" · ")
    }

    pub(crate) fn is_hub(&self) -> bool {
        self.role == Role::Hub
    }

    pub(crate) fn role_word(&self) -> &'static str {
        if self.is_hub() { "hub" } else { "peer" }
    }
}

impl TopologyStatus {
    pub(crate) fn text(&self) -> String {
        match self {
            TopologyStatus::InSync => "in sync".to_owned(),
            TopologyStatus::Drifted => "drifted".to_owned(),
            TopologyStatus::Proposed { change, .. } => format!("{change} proposed"),
        }
    }

    pub(crate) fn tone(&self) -> &'static str {
        match self {
            TopologyStatus::InSync => "good",
            TopologyStatus::Drifted => "bad",
            TopologyStatus::Proposed { .. } => "warn",
        }
    }
}

impl HeldVirtualIp {
    pub(crate) fn is_primary(&self) -> bool {
        self.rank == HolderRank::Primary
    }

    pub(crate) fn tooltip(&self) -> String {
        match self.rank {
            HolderRank::Primary => format!("virtual IP {}, held here", self.name),
            HolderRank::Failover(rank) => format!("virtual IP {}, failover {rank}", self.name),
        }
    }
}

impl Anchor {
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}
