//! Who may have what, on the smallest changes that show it.

use std::sync::Arc;

use super::*;
use crate::diff::{Cause, Change};
use crate::id::tests::lasting;
use crate::resource::{Kind, Spec};

fn spec(kind: Kind, json: &str) -> Spec {
    let read = Spec::read(kind, json);
    read.spec.unwrap_or_else(|| panic!("{:?}", read.diagnostics))
}

fn change(kind: Kind, name: &str, json: &str) -> Change {
    let after = spec(kind, json);
    Change {
        key: ResourceKey::new(kind, name),
        cause: Cause::Declared,
        before: None,
        base: None,
        desired: Some(after.digest()),
        after: Some(Arc::new(after)),
    }
}

fn network(name: &str, cidr: &str) -> Change {
    change(Kind::Network, name, &format!(r#"{{"cidr": "{cidr}"}}"#))
}

fn proposed(change: &Change, repository: &str, id: &str) -> HoldingProposal {
    HoldingProposal {
        id: ProposalId::new(id),
        repository_id: RepositoryId::new(repository),
        repository_name: format!("{repository}-config"),
        key: change.key.clone(),
        cause: change.cause,
        spec: change.after.as_deref().cloned(),
    }
}

fn repository(id: &str, proposal: Option<&str>) -> Claimant<'static> {
    Claimant::Repository { id: lasting(id), proposal: proposal.map(lasting) }
}

fn told(holdings: &Holdings, change: &Change, claimant: Claimant<'_>) -> Vec<String> {
    holdings.conflicts(change, claimant).iter().map(ToString::to_string).collect()
}

#[test]
fn a_name_belongs_to_its_owner_and_to_nobody_else() {
    let mut holdings = Holdings::default();
    let node = change(Kind::Node, "web", r#"{"template": "t"}"#);
    holdings.name_repository(lasting("edge"), "edge-config");
    holdings.note_owner(&node.key, Some(lasting("edge")));
    assert_eq!(told(&holdings, &node, repository("edge", None)), [""; 0]);
    let reason = "node web is owned by the repository `edge-config`";
    assert_eq!(told(&holdings, &node, repository("core", None)), [reason]);
    assert_eq!(told(&holdings, &node, Claimant::Person), [""; 0]);
    holdings.note_owner(&node.key, None);
    assert_eq!(told(&holdings, &node, repository("core", None)), [""; 0]);
}

#[test]
fn of_two_that_propose_one_name_the_first_has_it() {
    let mut holdings = Holdings::default();
    let node = change(Kind::Node, "web", r#"{"template": "t"}"#);
    holdings.propose(proposed(&node, "edge", "p1"));
    holdings.propose(proposed(&node, "core", "p2"));
    assert_eq!(told(&holdings, &node, repository("edge", Some("p1"))), [""; 0]);
    let reason = ["node web is already proposed by the repository `edge-config`"];
    assert_eq!(told(&holdings, &node, repository("core", Some("p2"))), reason);
    assert_eq!(told(&holdings, &node, repository("third", None)), reason);
    holdings.note_owner(&node.key, Some(lasting("core")));
    assert_eq!(told(&holdings, &node, repository("core", Some("p2"))), [""; 0], "an owner waits for nobody");
}

#[test]
fn networks_of_different_owners_do_not_overlap_whichever_contains_the_other() {
    let mut holdings = Holdings::default();
    holdings.name_repository(lasting("edge"), "edge-config");
    let held = network("held", "10.1.0.0/16");
    holdings.note_applied(&held, Some(lasting("edge")));
    for (cidr, reason) in [
        (
            "10.1.2.0/24",
            "10.1.2.0/24 overlaps 10.1.0.0/16 of network held, owned by the repository `edge-config`",
        ),
        (
            "10.0.0.0/8",
            "10.0.0.0/8 overlaps 10.1.0.0/16 of network held, owned by the repository `edge-config`",
        ),
        ("10.1.0.0/16", "10.1.0.0/16 is taken by network held, owned by the repository `edge-config`"),
    ] {
        let wanted = network("wanted", cidr);
        assert_eq!(told(&holdings, &wanted, repository("core", None)), [reason]);
        assert_eq!(told(&holdings, &wanted, Claimant::Person), [reason]);
        assert_eq!(told(&holdings, &wanted, repository("edge", None)), [""; 0], "its files were checked");
    }
    for cidr in ["10.2.0.0/16", "fd00::/8", "9.255.0.0/16"] {
        assert_eq!(told(&holdings, &network("wanted", cidr), repository("core", None)), [""; 0], "{cidr}");
    }
    holdings.release(&held.key);
    assert_eq!(told(&holdings, &network("wanted", "10.1.2.0/24"), repository("core", None)), [""; 0]);
}

#[test]
fn what_is_proposed_first_has_its_addresses_unless_its_own_name_is_contested() {
    let mut holdings = Holdings::default();
    let mut held = network("held", "10.1.0.0/16");
    holdings.propose(proposed(&held, "edge", "p1"));
    let wanted = network("wanted", "10.1.0.0/24");
    let reason =
        "10.1.0.0/24 overlaps 10.1.0.0/16 of network held, already proposed by the repository `edge-config`";
    assert_eq!(told(&holdings, &wanted, repository("core", None)), [reason]);
    assert_eq!(told(&holdings, &wanted, repository("core", Some("p0"))), [""; 0]);
    assert_eq!(told(&holdings, &wanted, Claimant::Person), [""; 0]);
    held.cause = Cause::Contested;
    let mut holdings = Holdings::default();
    holdings.propose(proposed(&held, "edge", "p1"));
    assert_eq!(told(&holdings, &wanted, repository("core", None)), [""; 0]);
}

#[test]
fn addresses_and_subnets_are_taken_within_their_network_alone() {
    let mut holdings = Holdings::default();
    let virtual_ip =
        |name: &str| change(Kind::VirtualIp, name, r#"{"primary_holder": "h", "address": "10.1.0.9"}"#);
    holdings.note_applied(&virtual_ip("a/one"), None);
    let reason = "10.1.0.9 is taken by virtual_ip a/one, owned by no repository";
    assert_eq!(told(&holdings, &virtual_ip("a/two"), repository("core", None)), [reason]);
    assert_eq!(told(&holdings, &virtual_ip("b/two"), repository("core", None)), [""; 0]);
    let peer = |name: &str| change(Kind::Peer, name, r#"{"lan_subnets": ["10.1.0.0/24"]}"#);
    holdings.note_applied(&peer("a/h1"), None);
    assert_eq!(told(&holdings, &peer("a/h2"), repository("core", None)).len(), 1);
    assert_eq!(told(&holdings, &peer("b/h2"), repository("core", None)), [""; 0]);
}

#[test]
fn an_address_lies_inside_its_network_whoever_declares_that() {
    let mut holdings = Holdings::default();
    holdings.note_applied(&network("a", "10.1.0.0/16"), Some(lasting("edge")));
    let inside = change(Kind::VirtualIp, "a/v", r#"{"primary_holder": "h", "address": "10.1.0.9"}"#);
    let outside = change(Kind::VirtualIp, "a/v", r#"{"primary_holder": "h", "address": "10.2.0.9"}"#);
    assert_eq!(told(&holdings, &inside, repository("core", None)), [""; 0]);
    let reason = "10.2.0.9 is not inside 10.1.0.0/16 of network a";
    assert_eq!(told(&holdings, &outside, repository("core", None)), [reason]);
}

#[test]
fn what_refers_to_something_declared_here_and_owned_elsewhere_waits_too() {
    let mut holdings = Holdings::default();
    holdings.name_repository(lasting("edge"), "edge-config");
    let template = ResourceKey::new(Kind::Template, "t");
    holdings.note_owner(&template, Some(lasting("edge")));
    let node = change(Kind::Node, "web", r#"{"template": "t"}"#);
    assert_eq!(told(&holdings, &node, repository("core", None)), [""; 0], "a reference across repositories");
    holdings.declare(lasting("core"), template);
    let reason = "template t is declared here too, but owned by the repository `edge-config`";
    assert_eq!(told(&holdings, &node, repository("core", None)), [reason]);
    assert_eq!(told(&holdings, &node, repository("edge", None)), [""; 0]);
}

#[test]
fn what_a_resource_has_already_is_not_asked_for_again() {
    let mut holdings = Holdings::default();
    holdings.note_applied(&network("held", "10.1.0.0/16"), Some(lasting("edge")));
    let mut edited = network("wanted", "10.1.0.0/16");
    edited.before = edited.after.clone();
    assert_eq!(told(&holdings, &edited, repository("core", None)), [""; 0]);
}

#[test]
fn a_network_cannot_exclude_addresses_that_others_declared_in_it() {
    let virtual_ip =
        |name: &str| change(Kind::VirtualIp, name, r#"{"primary_holder": "h", "address": "10.1.0.9"}"#);
    let moved = |cidr: &str| {
        let before = network("a", "10.1.0.0/16");
        Change { before: before.after, base: before.desired, ..network("a", cidr) }
    };
    let mut holdings = Holdings::default();
    holdings.name_repository(lasting("core"), "core-config");
    holdings.note_applied(&network("a", "10.1.0.0/16"), Some(lasting("edge")));
    holdings.note_applied(&virtual_ip("a/v"), Some(lasting("core")));
    let reason = "10.2.0.0/16 leaves out 10.1.0.9 of virtual_ip a/v, owned by the repository `core-config`";
    assert_eq!(told(&holdings, &moved("10.2.0.0/16"), repository("edge", None)), [reason]);
    assert_eq!(told(&holdings, &moved("10.2.0.0/16"), Claimant::Person), [reason]);
    assert_eq!(told(&holdings, &moved("10.1.0.0/24"), repository("edge", None)), [""; 0]);
    holdings.release(&virtual_ip("a/v").key);
    assert_eq!(told(&holdings, &moved("10.2.0.0/16"), repository("edge", None)), [""; 0]);
    // One's own move with the network, and what was proposed first counts as well.
    holdings.note_applied(&virtual_ip("a/own"), Some(lasting("edge")));
    assert_eq!(told(&holdings, &moved("10.2.0.0/16"), repository("edge", None)), [""; 0]);
    holdings.propose(proposed(&virtual_ip("a/w"), "core", "1"));
    assert_eq!(told(&holdings, &moved("10.2.0.0/16"), repository("edge", Some("2"))).len(), 1);
}

#[test]
fn no_peer_announces_addresses_of_another_owners_network() {
    let mut holdings = Holdings::default();
    holdings.note_applied(&network("a", "10.1.0.0/16"), Some(lasting("edge")));
    let peer = |subnet: &str| change(Kind::Peer, "a/h", &format!(r#"{{"lan_subnets": ["{subnet}"]}}"#));
    let reason = "10.1.0.0/24 overlaps 10.1.0.0/16 of network a, owned by the repository `edge`";
    assert_eq!(told(&holdings, &peer("10.1.0.0/24"), repository("core", None)), [reason]);
    assert_eq!(told(&holdings, &peer("10.1.0.0/24"), repository("edge", None)), [""; 0]);
    assert_eq!(told(&holdings, &peer("192.168.0.0/24"), repository("core", None)), [""; 0]);
}

#[test]
fn an_edited_proposal_can_conflict_with_its_own_repository() {
    let mut holdings = Holdings::default();
    holdings.note_applied(&network("a", "10.1.0.0/16"), Some(lasting("edge")));
    let edited = Claimant::Edited { id: lasting("edge"), proposal: lasting("1") };
    let reason = "10.1.0.0/24 overlaps 10.1.0.0/16 of network a, owned by the repository `edge`";
    assert_eq!(told(&holdings, &network("b", "10.1.0.0/24"), edited), [reason]);
    assert_eq!(told(&holdings, &network("b", "10.2.0.0/24"), edited), [""; 0]);
    assert_eq!(told(&holdings, &network("a", "10.1.0.0/24"), edited), [""; 0]);
}
