//! Allocated addresses are unique, inside their network, and stable.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::sync::Arc;

use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use windlass_core::accepted::{Accepted, AcceptedResource, Owner};
use windlass_core::allocate::{Allocation, allocate};
use windlass_core::id::AccountId;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::shape::{Decoder, TextValue as _};
use windlass_core::value::{Cidr, IpAddress};
use windlass_core::yaml;

fn add(accepted: &mut Accepted, kind: Kind, name: &str, text: &str) {
    let (tree, _) = yaml::parse(text);
    let tree = tree.unwrap();
    let spec = Spec::decode(kind, tree.root(), &mut Decoder::default()).unwrap();
    let resource = AcceptedResource { digest: spec.digest(), spec: Arc::new(spec), owner: Owner::Nobody };
    accepted.resources.insert(ResourceKey::new(kind, name), resource);
}

fn network(accepted: &mut Accepted, name: &str, cidr: Option<&str>) {
    add(accepted, Kind::Network, name, &cidr.map(|cidr| format!("cidr: {cidr}")).unwrap_or_default());
}

fn peers(accepted: &mut Accepted, network: &str, count: usize) {
    for number in 0..count {
        add(accepted, Kind::Peer, &format!("{network}/host-{number}"), "");
    }
}

fn virtual_ip(accepted: &mut Accepted, name: &str, address: Option<&str>) {
    let address = address.map(|address| format!("\naddress: '{address}'")).unwrap_or_default();
    add(accepted, Kind::VirtualIp, name, &format!("primary_holder: host-0{address}"));
}

fn cidr(text: &str) -> Cidr {
    Cidr::read(text).unwrap()
}

/// All addresses of a network; fails if one occurs twice.
fn addresses(accepted: &Accepted, allocation: &Allocation, network: &str) -> BTreeSet<IpAddress> {
    let mut found = BTreeSet::new();
    for (kind, name, _) in
        accepted.resources.iter().filter(|(_, name, _)| name.starts_with(&format!("{network}/")))
    {
        let address = match kind {
            Kind::Peer => allocation.peer(name),
            _ => allocation.virtual_ip(name),
        };
        if let Some(address) = address {
            assert!(found.insert(address), "{address} is given twice");
        }
    }
    found
}

#[test]
fn allocations_never_change() {
    let mut accepted = Accepted::default();
    network(&mut accepted, "fabric", None);
    network(&mut accepted, "office", Some("10.20.0.0/24"));
    peers(&mut accepted, "fabric", 1);
    peers(&mut accepted, "office", 1);
    virtual_ip(&mut accepted, "fabric/front", None);
    let allocation = allocate(&AccountId::new("account-1"), &accepted);
    let told = [
        allocation.network("fabric").unwrap().to_string(),
        allocation.peer("fabric/host-0").unwrap().to_string(),
        allocation.virtual_ip("fabric/front").unwrap().to_string(),
        allocation.peer("office/host-0").unwrap().to_string(),
    ];
    // Machines are configured with these addresses: they never change.
    let expected = [
        "fd03:fdfa:5057:82cd::/64",
        "fd03:fdfa:5057:82cd:51b1:91ee:849a:5f9e",
        "fd03:fdfa:5057:82cd:e14e:9841:ac10:8e54",
        "10.20.0.30",
    ];
    assert_eq!(told, expected);
    assert_ne!(
        allocate(&AccountId::new("account-2"), &accepted).network("fabric"),
        allocation.network("fabric")
    );
    assert_eq!(allocation.network("gone"), None);
    assert_eq!(allocation.peer("fabric/gone"), None);
}

#[test]
fn what_is_declared_is_kept_and_avoided() {
    let mut accepted = Accepted::default();
    network(&mut accepted, "all", Some("fd00::/9"));
    network(&mut accepted, "a", None);
    network(&mut accepted, "b", None);
    let allocation = allocate(&AccountId::new("acme"), &accepted);
    assert_eq!(allocation.network("all"), Some(cidr("fd00::/9")));
    for name in ["a", "b"] {
        assert!(!allocation.network(name).unwrap().overlaps(&cidr("fd00::/9")), "{name}");
    }
    let own = allocation.network("a").unwrap().0.network().to_string();
    network(&mut accepted, "inside", Some(&format!("{own}/80")));
    assert_ne!(allocate(&AccountId::new("acme"), &accepted).network("a"), allocation.network("a"));
    network(&mut accepted, "all", Some("fc00::/7"));
    assert_eq!(allocate(&AccountId::new("acme"), &accepted).network("a"), None, "nothing is left");

    network(&mut accepted, "tiny", Some("10.0.0.0/30"));
    peers(&mut accepted, "tiny", 1);
    for address in ["10.0.0.1", "10.0.0.2"] {
        let mut accepted = accepted.clone();
        virtual_ip(&mut accepted, "tiny/front", Some(address));
        let allocation = allocate(&AccountId::new("acme"), &accepted);
        assert_eq!(allocation.virtual_ip("tiny/front").unwrap().to_string(), address);
        assert_ne!(allocation.peer("tiny/host-0").unwrap().to_string(), address);
    }
}

#[test]
fn a_full_network_gives_nothing_and_a_network_that_is_not_there_neither() {
    for (text, room) in [
        ("10.0.0.0/29", 6),
        ("10.0.0.0/30", 2),
        ("10.0.0.0/31", 2),
        ("10.0.0.0/32", 1),
        ("fd00::/126", 3),
        ("fd00::/127", 2),
        ("fd00::/128", 1),
        ("0.0.0.0/0", 12),
        ("'::/0'", 12),
    ] {
        let mut accepted = Accepted::default();
        network(&mut accepted, "n", Some(text));
        peers(&mut accepted, "n", 10);
        virtual_ip(&mut accepted, "n/one", None);
        virtual_ip(&mut accepted, "n/two", None);
        let found = addresses(&accepted, &allocate(&AccountId::new("acme"), &accepted), "n");
        assert_eq!(found.len(), room, "{text}");
        let cidr = cidr(text.trim_matches('\''));
        assert!(found.iter().all(|address| cidr.contains(address)), "{text}: {found:?}");
    }
    let mut accepted = Accepted::default();
    peers(&mut accepted, "gone", 1);
    assert_eq!(allocate(&AccountId::new("acme"), &accepted).peer("gone/host-0"), None);
}

#[test]
fn a_large_network_that_is_nearly_full_is_filled_to_the_last_address() {
    let mut accepted = Accepted::default();
    network(&mut accepted, "n", Some("10.0.0.0/20"));
    peers(&mut accepted, "n", 4100);
    assert_eq!(addresses(&accepted, &allocate(&AccountId::new("acme"), &accepted), "n").len(), 4094);
}

#[test]
fn virtual_ips_stay_where_they_are_while_peers_come() {
    let mut accepted = Accepted::default();
    network(&mut accepted, "n", Some("10.0.0.0/24"));
    virtual_ip(&mut accepted, "n/front", None);
    let before = allocate(&AccountId::new("acme"), &accepted).virtual_ip("n/front");
    peers(&mut accepted, "n", 100);
    assert_eq!(allocate(&AccountId::new("acme"), &accepted).virtual_ip("n/front"), before);
}

type Step<'s> = Box<dyn Fn(&mut Accepted) + 's>;

proptest! {
    #[test]
    fn addresses_are_unique_inside_and_independent_of_order_and_of_others(
        names in btree_set("[a-z]{1,6}", 1..6),
        counts in vec(0_usize..20, 6),
        is_declared in vec(any::<bool>(), 6),
        other in "[a-z]{7}",
    ) {
        let mut steps: Vec<Step<'_>> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let (count, own) = (counts[index], format!("10.{index}.0.0/24"));
            let own = is_declared[index].then_some(own);
            steps.push(Box::new(move |accepted| network(accepted, name, own.as_deref())));
            steps.push(Box::new(move |accepted| peers(accepted, name, count)));
            steps.push(Box::new(move |accepted| virtual_ip(accepted, &format!("{name}/front"), None)));
        }
        let (mut accepted, mut reversed) = (Accepted::default(), Accepted::default());
        steps.iter().for_each(|step| step(&mut accepted));
        steps.iter().rev().for_each(|step| step(&mut reversed));
        let allocation = allocate(&AccountId::new("acme"), &accepted);
        prop_assert_eq!(&allocation, &allocate(&AccountId::new("acme"), &reversed));

        let mut crowded = accepted.clone();
        network(&mut crowded, &other, None);
        peers(&mut crowded, &other, 5);
        add(&mut crowded, Kind::Template, "web", "node_platform: debian-12-amd64");
        let with_others = allocate(&AccountId::new("acme"), &crowded);
        let ula = cidr("fd00::/8");
        let mut networks: Vec<Cidr> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let cidr = allocation.network(name).unwrap();
            prop_assert!(is_declared[index] || ula.overlaps(&cidr) && cidr.0.prefix_len() == 64);
            prop_assert!(!networks.iter().any(|network| network.overlaps(&cidr)));
            networks.push(cidr);
            let found = addresses(&accepted, &allocation, name);
            prop_assert_eq!(found.len(), counts[index] + 1);
            prop_assert!(found.iter().all(|address| cidr.contains(address)));
            prop_assert_eq!(with_others.network(name), Some(cidr));
            prop_assert_eq!(addresses(&crowded, &with_others, name), found);
        }
    }
}
