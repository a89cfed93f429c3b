//! The layout of the diagram: hubs in the middle, the other peers around them.
//!
//! The other peers are in two columns along an ellipse. Each item in a column has its own vertical range, so that
//! labels cannot overlap, however many there are. Many peers are drawn as one item for each region, in rings.

use std::collections::BTreeMap;

use super::text::{label, shortened, size};
use super::{Anchor, Area, Dot, Drawing, LabelText, Peer, Ring, Role, TunnelLine};

/// With more peers, those of a region are drawn together: single labels would be too small to read.
const MAX_LABELLED: usize = 60;

/// With more hubs, they are drawn together.
const MAX_HUBS: usize = 24;

/// The most regions drawn separately; if there are more, the smallest are drawn together.
const MAX_GROUPS: usize = 36;

/// The most dots of one group: nine rings around one dot. Further peers are only counted.
const MAX_DOTS: usize = 271;

/// The most virtual IPs shown beside one peer.
const MAX_BADGES: usize = 3;

const PEER: i32 = 7;
const HUB: i32 = 11;
const SMALL: i32 = 5;

/// The distance between rings.
const STEP: i32 = 15;

/// The distance between a dot and its label, and between items.
const GAP: i32 = 10;

/// The margin around the diagram.
const MARGIN: i32 = 16;

/// The minimum height of the ellipse, so that a few peers are not drawn in one row.
const LEAST_HEIGHT: i32 = 300;

/// An item of the layout: a peer, or several peers drawn together.
struct LayoutItem {
    peers: Vec<usize>,
    words: Vec<LabelText>,
    /// Half the size of the drawn item.
    radius: i32,
    is_group: bool,
}

impl LayoutItem {
    fn height(&self) -> i32 {
        size(&self.words).1.max(2 * self.radius) + GAP
    }
}

/// An item with its position.
struct PlacedItem<'i> {
    item: &'i LayoutItem,
    x: i32,
    y: i32,
    anchor: Anchor,
}

/// Draws a network.
pub fn draw(peers: &[Peer]) -> Drawing {
    let of_role =
        |role: Role| -> Vec<usize> { (0..peers.len()).filter(|index| peers[*index].role == role).collect() };
    let (hubs, spokes) = (of_role(Role::Hub), of_role(Role::Spoke));
    let hubs = match hubs.len() > MAX_HUBS {
        true => vec![group(peers, "hubs".to_owned(), hubs)],
        false => hubs.into_iter().map(|index| single(peers, index, HUB)).collect(),
    };
    let spokes = match peers.len() > MAX_LABELLED {
        true => regions(peers, spokes),
        false => in_order(peers, spokes).into_iter().map(|index| single(peers, index, PEER)).collect(),
    };
    let (middle, room) = place_hubs(&hubs);
    let around = place_around(&spokes, room);
    finish(peers, &middle, &around)
}

/// Sorts peers by region, so that peers of a region are next to each other.
fn in_order(peers: &[Peer], mut indexes: Vec<usize>) -> Vec<usize> {
    indexes.sort_by(|a, b| {
        let key = |index: &usize| (&peers[*index].region, &peers[*index].host, *index);
        key(a).cmp(&key(b))
    });
    indexes
}

fn single(peers: &[Peer], index: usize, radius: i32) -> LayoutItem {
    let peer = &peers[index];
    let mut words = vec![LabelText::Name(peer.host.clone())];
    words.extend(peer.address.clone().map(LabelText::Detail));
    words.extend(peer.held.iter().take(MAX_BADGES).cloned().map(LabelText::Badge));
    if peer.held.len() > MAX_BADGES {
        words.push(LabelText::Detail(format!("and {} more", peer.held.len() - MAX_BADGES)));
    }
    LayoutItem {
        peers: vec![index],
        words: words.into_iter().map(shortened).collect(),
        radius,
        is_group: false,
    }
}

fn group(peers: &[Peer], name: String, mut members: Vec<usize>) -> LayoutItem {
    // Peers that need attention come first, so that they always have a dot.
    members.sort_by(|a, b| (&peers[*a].status, *a).cmp(&(&peers[*b].status, *b)));
    let count = |slug: &str| members.iter().filter(|index| peers[**index].status.slug() == slug).count();
    let held: usize = members.iter().map(|index| peers[*index].held.len()).sum();
    let noun = if members.len() == 1 { "peer" } else { "peers" };
    let mut words = vec![LabelText::Name(name), LabelText::Detail(format!("{} {noun}", members.len()))];
    for slug in ["drifted", "proposed"] {
        if count(slug) > 0 {
            words.push(LabelText::Notice(slug, format!("{} {slug}", count(slug))));
        }
    }
    if held > 0 {
        words.push(LabelText::Detail(format!(
            "{held} virtual IP {}",
            if held == 1 { "holder" } else { "holders" }
        )));
    }
    let radius = rings_around(members.len().min(MAX_DOTS)) * STEP + 2 * SMALL;
    LayoutItem { peers: members, words: words.into_iter().map(shortened).collect(), radius, is_group: true }
}

/// Groups peers by region; if there are too many regions, the smallest are joined.
fn regions(peers: &[Peer], spokes: Vec<usize>) -> Vec<LayoutItem> {
    let mut by_region: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for index in spokes {
        by_region.entry(peers[index].region.as_deref().unwrap_or_default()).or_default().push(index);
    }
    let mut sizes: Vec<(usize, &str)> =
        by_region.iter().map(|(region, members)| (members.len(), *region)).collect();
    sizes.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut others = Vec::new();
    if sizes.len() > MAX_GROUPS {
        for (_, region) in &sizes[MAX_GROUPS - 1..] {
            others.extend(by_region.remove(region).unwrap_or_default());
        }
    }
    let named = |region: &str| if region.is_empty() { "no region".to_owned() } else { region.to_owned() };
    let mut items: Vec<LayoutItem> =
        by_region.into_iter().map(|(region, members)| group(peers, named(region), members)).collect();
    if !others.is_empty() {
        items.push(group(peers, "other regions".to_owned(), others));
    }
    items
}

/// How many rings of six, twelve, eighteen … dots this many peers need around one in the middle.
fn rings_around(count: usize) -> i32 {
    let mut rings = 0;
    let mut room = 1;
    while room < count {
        rings += 1;
        room += 6 * rings;
    }
    i32::try_from(rings).unwrap_or(i32::MAX)
}

/// Places hubs in rows, each with its label below, and returns how far they extend from the middle.
fn place_hubs(hubs: &[LayoutItem]) -> (Vec<PlacedItem<'_>>, (i32, i32)) {
    if hubs.is_empty() {
        return (Vec::new(), (0, 0));
    }
    let columns = (1..=hubs.len()).find(|columns| columns * columns >= hubs.len()).unwrap_or(1);
    let cell_width =
        hubs.iter().map(|hub| size(&hub.words).0.max(2 * hub.radius)).max().unwrap_or(0) + 3 * GAP;
    let cell_height = hubs.iter().map(|hub| size(&hub.words).1 + 2 * hub.radius).max().unwrap_or(0) + 4 * GAP;
    let rows: Vec<&[LayoutItem]> = hubs.chunks(columns).collect();
    let mut placed = Vec::with_capacity(hubs.len());
    for (row, items) in rows.iter().enumerate() {
        for (column, item) in items.iter().enumerate() {
            let x = cell_width * (2 * int(column) - int(items.len()) + 1) / 2;
            let top = cell_height * (2 * int(row) - int(rows.len())) / 2;
            placed.push(PlacedItem { item, x, y: top + item.radius + GAP, anchor: Anchor::Middle });
        }
    }
    (placed, (cell_width * int(columns) / 2, cell_height * int(rows.len()) / 2))
}

fn int(count: usize) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Places the other peers in two columns along an ellipse around the hubs.
fn place_around(items: &[LayoutItem], room: (i32, i32)) -> Vec<PlacedItem<'_>> {
    let total: i32 = items.iter().map(LayoutItem::height).sum();
    let mut right = 0;
    let mut height = 0;
    while right < items.len() && height + items[right].height() / 2 <= total / 2 {
        height += items[right].height();
        right += 1;
    }
    let (right, left) = items.split_at(right.max(items.len().min(1)));
    let tallest = [right, left].map(|side| side.iter().map(LayoutItem::height).sum::<i32>());
    let height = tallest[0].max(tallest[1]).max(2 * room.1 + 4 * GAP).max(LEAST_HEIGHT);
    let ellipse = Ellipse { across: (room.0 + 60).max(height / 3).max(150), height, room };
    let mut placed = ellipse.column(right.iter(), Anchor::Start);
    placed.extend(ellipse.column(left.iter().rev(), Anchor::End));
    placed
}

struct Ellipse {
    across: i32,
    height: i32,
    room: (i32, i32),
}

impl Ellipse {
    fn column<'i>(
        &self,
        items: impl Iterator<Item = &'i LayoutItem> + Clone,
        anchor: Anchor,
    ) -> Vec<PlacedItem<'i>> {
        let needed: i32 = items.clone().map(LayoutItem::height).sum();
        let count = int(items.clone().count()).max(1);
        let spare = (self.height - needed) / count;
        let mut top = -(needed + spare * count) / 2;
        let mut placed = Vec::new();
        for item in items {
            let height = item.height() + spare;
            let y = top + height / 2;
            let x = self.x_at(item, y);
            let x = if anchor == Anchor::Start { x } else { -x };
            placed.push(PlacedItem { item, x, y, anchor });
            top += height;
        }
        placed
    }

    /// The distance of an item at this height from the middle: on the ellipse, but outside of the hubs' area and on its
    /// own side.
    fn x_at(&self, item: &LayoutItem, y: i32) -> i32 {
        let half = f64::from(self.height) / 2.0 + f64::from(4 * GAP);
        let share = f64::from(y) / half;
        // Rounded to whole pixels; both values are far smaller than an i32 can hold.
        #[allow(clippy::cast_possible_truncation, reason = "a picture is a few thousand pixels wide")]
        let on_ellipse = (f64::from(self.across) * (1.0 - share * share).max(0.0).sqrt()) as i32;
        let is_beside_hubs = y.abs() - item.height() / 2 <= self.room.1 + GAP;
        let least = if is_beside_hubs { self.room.0 + 2 * GAP } else { GAP };
        on_ellipse.max(least + item.radius)
    }
}

/// The complete diagram, moved so that its upper left corner is at the origin.
fn finish(peers: &[Peer], middle: &[PlacedItem<'_>], around: &[PlacedItem<'_>]) -> Drawing {
    let mut drawing = Drawing { lines: lines(middle, around), ..Drawing::default() };
    for placed in middle.iter().chain(around) {
        drawing.add(placed);
    }
    let mut bounds = Bounds::default();
    for area in drawing.labels.iter().map(|label| label.area).chain(drawing.dots.iter().map(around_dot)) {
        bounds.take(area);
    }
    for ring in &drawing.rings {
        let side = 2 * ring.radius;
        bounds.take(Area { x: ring.x - ring.radius, y: ring.y - ring.radius, width: side, height: side });
    }
    drawing.move_by(MARGIN - bounds.left, MARGIN - bounds.top);
    drawing.width = bounds.right - bounds.left + 2 * MARGIN;
    drawing.height = bounds.bottom - bounds.top + 2 * MARGIN;
    // Peers that need attention are drawn last, on top of the others.
    drawing.dots.sort_by(|a, b| peers[b.peer].status.cmp(&peers[a.peer].status));
    drawing
}

fn around_dot(dot: &Dot) -> Area {
    let side = 2 * dot.radius;
    Area { x: dot.x - dot.radius, y: dot.y - dot.radius, width: side, height: side }
}

#[derive(Default)]
struct Bounds {
    left: i32,
    top: i32,
    right: i32,
    bottom: i32,
}

impl Bounds {
    fn take(&mut self, area: Area) {
        self.left = self.left.min(area.x);
        self.top = self.top.min(area.y);
        self.right = self.right.max(area.x + area.width);
        self.bottom = self.bottom.max(area.y + area.height);
    }
}

/// The tunnels: each hub to every other, and each other peer to every hub.
fn lines(middle: &[PlacedItem<'_>], around: &[PlacedItem<'_>]) -> Vec<TunnelLine> {
    let mut lines = Vec::new();
    for (index, hub) in middle.iter().enumerate() {
        for other in middle[..index].iter().chain(around) {
            let only = |placed: &PlacedItem<'_>| (!placed.item.is_group).then(|| placed.item.peers[0]);
            lines.push(TunnelLine {
                from: (other.x, other.y),
                to: (hub.x, hub.y),
                tunnels: other.item.peers.len() * hub.item.peers.len(),
                peer: only(other),
            });
        }
    }
    lines
}

impl Drawing {
    fn add(&mut self, placed: &PlacedItem<'_>) {
        let item = placed.item;
        match item.is_group {
            true => self.add_group(placed),
            false => {
                let peer = item.peers[0];
                self.dots.push(Dot { peer, x: placed.x, y: placed.y, radius: item.radius });
            }
        }
        let beside = item.radius + GAP;
        let (x, y) = match placed.anchor {
            Anchor::Middle => (placed.x, placed.y + item.radius + GAP / 2),
            Anchor::Start => (placed.x + beside, placed.y - size(&item.words).1 / 2),
            Anchor::End => (placed.x - beside, placed.y - size(&item.words).1 / 2),
        };
        self.labels.push(label(item.words.clone(), x, y, placed.anchor));
    }

    /// Adds the dots of a group: one in the middle, six around it, twelve around those.
    fn add_group(&mut self, placed: &PlacedItem<'_>) {
        let members = &placed.item.peers;
        self.rings.push(Ring { x: placed.x, y: placed.y, radius: placed.item.radius });
        self.uncounted += members.len().saturating_sub(MAX_DOTS);
        let (mut ring, mut rank) = (0_i32, 0_i32);
        for peer in members.iter().take(MAX_DOTS) {
            let angle = f64::from(rank) / f64::from((6 * ring).max(1)) * std::f64::consts::TAU;
            let radius = f64::from(ring * STEP);
            #[allow(clippy::cast_possible_truncation, reason = "a picture is a few thousand pixels wide")]
            let (dx, dy) = ((radius * angle.sin()).round() as i32, (-radius * angle.cos()).round() as i32);
            self.dots.push(Dot { peer: *peer, x: placed.x + dx, y: placed.y + dy, radius: SMALL });
            rank += 1;
            if rank >= 6 * ring {
                (ring, rank) = (ring + 1, 0);
            }
        }
    }

    fn move_by(&mut self, dx: i32, dy: i32) {
        for line in &mut self.lines {
            for end in [&mut line.from, &mut line.to] {
                *end = (end.0 + dx, end.1 + dy);
            }
        }
        for ring in &mut self.rings {
            (ring.x, ring.y) = (ring.x + dx, ring.y + dy);
        }
        for dot in &mut self.dots {
            (dot.x, dot.y) = (dot.x + dx, dot.y + dy);
        }
        for label in &mut self.labels {
            let rows = label.rows.iter_mut().map(|row| {
                row.baseline += dy;
                &mut row.area
            });
            for area in rows.chain([&mut label.area]) {
                (area.x, area.y) = (area.x + dx, area.y + dy);
            }
        }
    }
}
