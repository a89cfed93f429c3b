//! Which documents the agent would go back to.

use windlass_core::host::{BlobDigest, NodeDocument};
use windlass_core::id::AgentId;

use super::held::{ApplyStep, Held, LastGood};

fn document(name: &str) -> NodeDocument {
    let node = serde_json::from_value(serde_json::json!({"hostname": name})).unwrap();
    NodeDocument { node, config: Default::default(), modules: Vec::new() }
}

fn held() -> Held {
    Held::nothing(AgentId::new("a"), LastGood::Nothing)
}

fn accept(held: &mut Held, generation: u64) {
    let document = document(&generation.to_string());
    held.accept(generation, BlobDigest::of(&document.to_bytes()), document);
}

fn generations(held: &Held) -> (Option<u64>, Option<u64>) {
    let last_good = match &held.last_good {
        LastGood::Document(document) => Some(document.generation),
        LastGood::Nothing | LastGood::Lost => None,
    };
    (held.current.as_ref().map(|current| current.generation), last_good)
}

#[test]
fn only_what_was_applied_without_a_failure_is_gone_back_to() {
    let mut held = held();
    accept(&mut held, 1);
    held.step = ApplyStep::Done;
    accept(&mut held, 2);
    assert_eq!(generations(&held), (Some(2), Some(1)));
    held.step = ApplyStep::Failing;
    accept(&mut held, 3);
    assert_eq!(generations(&held), (Some(3), Some(1)), "2 failed");
    held.step = ApplyStep::Done;
    held.await_confirmation();
    accept(&mut held, 4);
    assert_eq!(generations(&held), (Some(4), Some(1)), "3 was not confirmed");
}

#[test]
fn a_withdrawn_generation_stays_accepted_and_going_back_needs_no_confirmation() {
    let mut held = held();
    accept(&mut held, 1);
    held.step = ApplyStep::Done;
    accept(&mut held, 2);
    held.await_confirmation();
    assert_eq!(held.withdraw("unreachable"), Some(2));
    assert_eq!(generations(&held), (Some(1), Some(1)));
    assert_eq!(held.accepted_generation(), 2, "an assignment of generation 2 is nothing new");
    held.await_confirmation();
    assert_eq!((held.step, held.unconfirmed), (ApplyStep::Due, None));
    accept(&mut held, 3);
    assert_eq!(held.withdrawn, None);
}

#[test]
fn the_first_assignment_goes_back_to_nothing_and_a_lost_one_nowhere() {
    let mut held = held();
    accept(&mut held, 1);
    assert_eq!(held.withdraw("unreachable"), Some(1));
    assert_eq!(generations(&held).0, Some(0));
    let mut held = Held::nothing(AgentId::new("a"), LastGood::Lost);
    accept(&mut held, 7);
    held.await_confirmation();
    assert_eq!(held.withdraw("unreachable"), None);
    assert_eq!((generations(&held).0, held.unconfirmed), (Some(7), None));
}

#[test]
fn three_starts_without_a_confirmation_are_too_many() {
    let mut held = held();
    accept(&mut held, 1);
    held.await_confirmation();
    for expected in [false, false, true] {
        held.count_start();
        assert_eq!(held.has_too_many_starts(), expected);
    }
}
