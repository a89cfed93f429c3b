//! Diagrams of networks: the peers and their positions. Pure: the same peers give the same diagram.
//!
//! The result has positions and no styles: the style sheet defines colours and fonts, and the template writes the SVG.

mod layout;
mod text;

#[cfg(test)]
mod tests;

pub use layout::draw;

/// The role of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Others connect to it directly.
    Hub,
    /// It reaches others through hubs.
    Spoke,
}

/// The state of a resource compared with git.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopologyStatus {
    /// It was changed manually.
    Drifted,
    /// A change of it is proposed.
    Proposed {
        /// `create`, `update` or `destroy`.
        change: String,
        /// The proposal's id.
        proposal_id: String,
    },
    /// It is in sync.
    InSync,
}

impl TopologyStatus {
    pub(crate) fn slug(&self) -> &'static str {
        match self {
            TopologyStatus::Drifted => "drifted",
            TopologyStatus::Proposed { .. } => "proposed",
            TopologyStatus::InSync => "in-sync",
        }
    }
}

/// The rank of a virtual IP's holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderRank {
    /// It holds the address while it is healthy.
    Primary,
    /// It takes over when those before it fail; counted from 1.
    Failover(usize),
}

/// A virtual IP at one of its holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldVirtualIp {
    /// The virtual IP's name inside its network.
    pub name: String,
    /// The rank of this peer.
    pub rank: HolderRank,
    /// Its state compared with git.
    pub status: TopologyStatus,
}

/// A peer of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The name of the node.
    pub host: String,
    /// Its address in the network.
    pub address: Option<String>,
    /// The region of the node.
    pub region: Option<String>,
    /// Its role.
    pub role: Role,
    /// Its state compared with git.
    pub status: TopologyStatus,
    /// The endpoint at which others reach it.
    pub endpoint: Option<String>,
    /// The subnets behind it.
    pub subnets: Vec<String>,
    /// The virtual IPs it holds or would take over.
    pub held: Vec<HeldVirtualIp>,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Its left side.
    pub x: i32,
    /// Its upper side.
    pub y: i32,
    /// Its width.
    pub width: i32,
    /// Its height.
    pub height: i32,
}

impl Area {
    /// Whether two rectangles overlap.
    pub fn meets(&self, other: &Area) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// The dot of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dot {
    /// The index of the peer.
    pub peer: usize,
    /// The x coordinate of its centre.
    pub x: i32,
    /// The y coordinate of its centre.
    pub y: i32,
    /// Its radius.
    pub radius: i32,
}

/// A circle around peers that are drawn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// The x coordinate of its centre.
    pub x: i32,
    /// The y coordinate of its centre.
    pub y: i32,
    /// Its radius.
    pub radius: i32,
}

/// A line that stands for tunnels between two items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelLine {
    /// Its start.
    pub from: (i32, i32),
    /// Its end.
    pub to: (i32, i32),
    /// The number of tunnels.
    pub tunnels: usize,
    /// The index of the peer, if the line stands for a single tunnel.
    pub peer: Option<usize>,
}

/// The text of a label row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelText {
    /// A host or a region.
    Name(String),
    /// An address or a count.
    Detail(String),
    /// A status that needs attention: its slug and its text.
    Notice(&'static str, String),
    /// A virtual IP.
    Badge(HeldVirtualIp),
}

/// A row of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// Its text.
    pub word: LabelText,
    /// The y coordinate of its baseline.
    pub baseline: i32,
    /// The area it takes.
    pub area: Area,
}

/// The alignment of a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Left-aligned.
    Start,
    /// Centred.
    Middle,
    /// Right-aligned.
    End,
}

/// The label of a peer or a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The area it takes.
    pub area: Area,
    /// Its alignment.
    pub anchor: Anchor,
    /// Its rows.
    pub rows: Vec<LabelRow>,
}

/// The diagram of a network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// Its width.
    pub width: i32,
    /// Its height.
    pub height: i32,
    /// The tunnels, below everything else.
    pub lines: Vec<TunnelLine>,
    /// The circles around groups.
    pub rings: Vec<Ring>,
    /// The peers.
    pub dots: Vec<Dot>,
    /// The labels.
    pub labels: Vec<Label>,
    /// Peers that a label counts and that have no dot.
    pub uncounted: usize,
}
