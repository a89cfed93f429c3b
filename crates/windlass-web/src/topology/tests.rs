//! Nothing in a diagram overlaps anything else.

use proptest::prelude::*;

use super::*;

fn peer(index: usize, role: Role, region: &str, held: usize) -> Peer {
    let badge = |rank| HeldVirtualIp {
        name: format!("address-{rank}"),
        rank: HolderRank::Failover(rank),
        status: TopologyStatus::InSync,
    };
    Peer {
        host: format!("edge-{region}-{index:04}"),
        address: Some(format!("fd12:3456:789a:{index:x}::{index:x}")),
        region: (!region.is_empty()).then(|| region.to_owned()),
        role,
        status: if index % 7 == 3 { TopologyStatus::Drifted } else { TopologyStatus::InSync },
        endpoint: None,
        subnets: Vec::new(),
        held: (0..held).map(badge).collect(),
    }
}

/// A network with this many hubs, spokes and regions; a peer's index decides its region and its number of virtual IPs.
fn network(hubs: usize, spokes: usize, regions: usize) -> Vec<Peer> {
    let made = |index: usize, role| peer(index, role, &format!("r{}", index % regions), index % 5);
    let hubs = (0..hubs).map(|index| made(index, Role::Hub));
    hubs.chain((0..spokes).map(|index| made(index + 1000, Role::Spoke))).collect()
}

fn around(dot: &Dot) -> Area {
    Area { x: dot.x - dot.radius, y: dot.y - dot.radius, width: 2 * dot.radius, height: 2 * dot.radius }
}

fn check(peers: &[Peer]) {
    let drawing = draw(peers);
    for (index, label) in drawing.labels.iter().enumerate() {
        for other in &drawing.labels[..index] {
            assert!(!label.area.meets(&other.area), "{label:?} lies on {other:?}");
        }
        for dot in &drawing.dots {
            assert!(!label.area.meets(&around(dot)), "{label:?} lies on {dot:?}");
        }
        for row in &label.rows {
            let (inner, outer) = (row.area, label.area);
            assert!(inner.x >= outer.x && inner.x + inner.width <= outer.x + outer.width, "{label:?}");
        }
        let area = label.area;
        assert!(area.x >= 0 && area.y >= 0, "{label:?}");
        assert!(area.x + area.width <= drawing.width && area.y + area.height <= drawing.height, "{label:?}");
    }
    for (index, dot) in drawing.dots.iter().enumerate() {
        for other in &drawing.dots[..index] {
            assert!(!around(dot).meets(&around(other)), "{dot:?} lies on {other:?}");
        }
    }
    assert_eq!(drawing.dots.len() + drawing.uncounted, peers.len(), "everyone is drawn or counted");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_two_labels_overlap(hubs in 0_usize..30, spokes in 0_usize..61, regions in 1_usize..8) {
        check(&network(hubs, spokes, regions));
    }

    #[test]
    fn many_peers_are_drawn_by_region_and_still_readable(
        hubs in 0_usize..40, spokes in 61_usize..900, regions in 1_usize..80
    ) {
        let peers = network(hubs, spokes, regions);
        check(&peers);
        let drawing = draw(&peers);
        prop_assert!(drawing.labels.len() <= 24 + 36, "{} labels", drawing.labels.len());
        prop_assert_eq!(draw(&peers), drawing, "the same peers make the same picture");
    }

    #[test]
    fn texts_of_any_length_stay_in_their_room(host in "[a-z0-9.\\-]{1,80}", address in "[0-9a-f:]{1,60}", spokes in 1_usize..20) {
        let mut peers = network(1, spokes, 2);
        for peer in &mut peers {
            peer.host.clone_from(&host);
            peer.address = Some(address.clone());
        }
        check(&peers);
    }
}

#[test]
fn hubs_are_in_the_middle_and_every_other_peer_has_a_tunnel_to_each() {
    let peers = &network(2, 8, 2);
    let drawing = &draw(peers);
    let far = |role: Role| {
        let dots = drawing.dots.iter().filter(move |dot| peers[dot.peer].role == role);
        dots.map(|dot| (dot.x - drawing.width / 2).abs()).collect::<Vec<_>>()
    };
    let (hubs, spokes) = (far(Role::Hub), far(Role::Spoke));
    assert!(hubs.iter().max() < spokes.iter().min(), "{hubs:?} {spokes:?}");
    assert_eq!(drawing.lines.len(), 8 * 2 + 1);
}

#[test]
fn a_drifted_peer_is_drawn_and_labelled_in_a_large_network() {
    let mut peers = network(1, 600, 1);
    for peer in &mut peers {
        peer.status = TopologyStatus::InSync;
    }
    peers[600].status = TopologyStatus::Drifted;
    let drawing = draw(&peers);
    assert!(drawing.uncounted > 0 && drawing.dots.iter().any(|dot| dot.peer == 600));
    let told = |label: &Label| {
        label.rows.iter().any(|row| row.word == LabelText::Notice("drifted", "1 drifted".into()))
    };
    assert!(drawing.labels.iter().any(told), "{:?}", drawing.labels);
}

#[test]
fn three_hundred_peers_make_a_picture_that_fits_a_page() {
    let drawing = draw(&network(3, 297, 6));
    assert!(drawing.width <= 1_100 && drawing.height <= 1_100, "{} × {}", drawing.width, drawing.height);
    assert_eq!(drawing.rings.len(), 6);
}

#[test]
fn a_network_without_peers_is_an_empty_picture() {
    let drawing = draw(&[]);
    assert!(drawing.dots.is_empty() && drawing.lines.is_empty() && drawing.labels.is_empty());
}
