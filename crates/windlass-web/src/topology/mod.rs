//! Networks as pictures: who is in them, and where each goes on the paper. Pure: the same peers make the same picture.
//!
//! Says where things are, not how they look: colours and type are the style sheet's, and the template writes the SVG.

mod layout;
mod text;

#[cfg(test)]
mod tests;

pub use layout::draw;

/// What a peer is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Others reach it directly.
    Hub,
    /// It reaches others through hubs.
    Spoke,
}

/// Whether something is as git says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TopologyStatus {
    /// Someone changed it by hand.
    Drifted,
    /// A change of it waits.
    Proposed {
        /// `create`, `update` or `destroy`.
        change: String,
        /// The proposal's id.
        proposal_id: String,
    },
    /// It is.
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

/// Who holds a virtual IP when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HolderRank {
    /// While it is healthy.
    Primary,
    /// When those before it fail; counted from 1.
    Failover(usize),
}

/// A virtual IP at one of its holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldVirtualIp {
    /// The virtual IP's name inside its network.
    pub name: String,
    /// When this peer holds it.
    pub turn: HolderRank,
    /// Whether it is as git says.
    pub standing: TopologyStatus,
}

/// A peer of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// The node.
    pub host: String,
    /// Its address in the network.
    pub address: Option<String>,
    /// Where the node is.
    pub region: Option<String>,
    /// What it is to the others.
    pub role: Role,
    /// Whether it is as git says.
    pub standing: TopologyStatus,
    /// Where others reach it.
    pub endpoint: Option<String>,
    /// Networks behind it.
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
    /// How wide it is.
    pub width: i32,
    /// How high it is.
    pub height: i32,
}

impl Area {
    /// Whether two have a point in common.
    pub fn meets(&self, other: &Area) -> bool {
        self.x < other.x + other.width
            && other.x < self.x + self.width
            && self.y < other.y + other.height
            && other.y < self.y + self.height
    }
}

/// A peer on the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dot {
    /// Which peer.
    pub peer: usize,
    /// Its middle.
    pub x: i32,
    /// Its middle.
    pub y: i32,
    /// Half its size.
    pub radius: i32,
}

/// A circle around peers that are drawn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Its middle.
    pub x: i32,
    /// Its middle.
    pub y: i32,
    /// Half its size.
    pub radius: i32,
}

/// Tunnels between two places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunnelLine {
    /// Where it begins.
    pub from: (i32, i32),
    /// Where it ends.
    pub to: (i32, i32),
    /// How many tunnels it stands for.
    pub tunnels: usize,
    /// The peer whose tunnel it is, if it stands for one.
    pub peer: Option<usize>,
}

/// What a line of a label tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelText {
    /// A host or a region.
    Name(String),
    /// An address or a count.
    Detail(String),
    /// Something to look at, and how it stands.
    Notice(&'static str, String),
    /// A virtual IP.
    Badge(HeldVirtualIp),
}

/// A line of a label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// What it tells.
    pub word: LabelText,
    /// Where its letters stand.
    pub baseline: i32,
    /// The room it takes.
    pub area: Area,
}

/// From where a label's lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// From the left.
    Start,
    /// From the middle.
    Middle,
    /// From the right.
    End,
}

/// What stands beside a peer or a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The room it takes.
    pub area: Area,
    /// From where it is written.
    pub anchor: Anchor,
    /// Its lines.
    pub rows: Vec<LabelRow>,
}

/// A network on paper.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drawing {
    /// The paper's width.
    pub width: i32,
    /// The paper's height.
    pub height: i32,
    /// Tunnels, below everything.
    pub lines: Vec<TunnelLine>,
    /// Circles around groups.
    pub rings: Vec<Ring>,
    /// Peers.
    pub dots: Vec<Dot>,
    /// What they are called.
    pub labels: Vec<Label>,
    /// Peers that are counted in a label but have no dot of their own.
    pub uncounted: usize,
}
