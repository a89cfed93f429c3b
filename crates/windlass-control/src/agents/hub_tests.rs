use windlass_api::agent::StreamMessage;
use windlass_core::observed::{Enrolment, Generation, LastContact};
use windlass_core::resource::Kind;

use super::*;
use crate::agents::mailbox::Delivery;

fn agent(id: &str, name: &str) -> Agent {
    Agent {
        id: AgentId::new(id),
        account_id: AccountId::new("acme"),
        target: ResourceKey::new(Kind::Node, name),
        enrolment: Enrolment(1),
        enrolled_at: at(0),
        last_contact: LastContact::Never,
        revoked_at: None,
    }
}

fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(0).plus(Duration::from_secs(seconds))
}

fn news(name: &str, generation: u64) -> AssignmentNews {
    AssignmentNews {
        account_id: AccountId::new("acme"),
        target: ResourceKey::new(Kind::Node, name),
        generation: Generation(generation),
        assigned_at: at(1),
    }
}

/// What a stream has to send now.
async fn next(place: &StreamPlace) -> Option<Delivery> {
    tokio::select! {
        biased;
        delivery = place.mailbox.next() => Some(delivery),
        () = std::future::ready(()) => None,
    }
}

fn assignment(generation: u64) -> Option<Delivery> {
    Some(Delivery::Send(StreamMessage::Assignment { generation }))
}

#[tokio::test]
async fn only_streams_with_news_are_told_and_each_generation_once() {
    let hub = Arc::new(Hub::default());
    let (edge, other) = (hub.open(&agent("a", "edge")), hub.open(&agent("b", "other")));
    edge.told(2);
    hub.tell_assignments(&[news("edge", 2), news("gone", 9)]);
    assert_eq!((next(&edge).await, next(&other).await), (None, None), "it knows generation 2");
    for _ in 0..2 {
        hub.tell_assignments(&[news("edge", 3)]);
    }
    assert_eq!(next(&edge).await, assignment(3));
    assert_eq!((next(&edge).await, next(&other).await), (None, None), "told once, and nobody else");
    let foreign = AssignmentNews { account_id: AccountId::new("other"), ..news("edge", 9) };
    hub.tell_assignments(&[foreign]);
    assert_eq!(next(&edge).await, None, "a node of another account");
}

#[tokio::test]
async fn a_revoked_agent_and_an_earlier_stream_of_an_agent_end() {
    let hub = Arc::new(Hub::default());
    let first = hub.open(&agent("a", "edge"));
    let second = hub.open(&agent("a", "edge"));
    assert_eq!(next(&first).await, Some(Delivery::Close));
    drop(first);
    assert_eq!(next(&second).await, None, "the end of the first does not end the second");
    hub.tell_assignments(&[news("edge", 1)]);
    assert_eq!(next(&second).await, assignment(1));
    hub.end_revoked(&[RevokedAgent { id: AgentId::new("a"), revoked_at: at(5) }]);
    assert_eq!(next(&second).await, Some(Delivery::SendLast(StreamMessage::Revoked)));
    assert!(!hub.is_empty());
    drop(second);
    assert!(hub.is_empty());
}

#[tokio::test]
async fn the_end_of_a_replaced_machine_does_not_hide_the_new_one() {
    let hub = Arc::new(Hub::default());
    let replaced = hub.open(&agent("old", "edge"));
    let new = hub.open(&agent("new", "edge"));
    drop(replaced);
    hub.tell_assignments(&[news("edge", 4)]);
    assert_eq!(next(&new).await, assignment(4));
}

#[tokio::test]
async fn an_agent_is_asked_to_observe_if_it_is_connected() {
    let hub = Arc::new(Hub::default());
    assert!(!hub.request_observe(&AgentId::new("a")));
    let place = hub.open(&agent("a", "edge"));
    assert!(hub.request_observe(&AgentId::new("a")));
    assert_eq!(next(&place).await, Some(Delivery::Send(StreamMessage::Observe)));
}

#[test]
fn contacts_are_stored_once_and_open_streams_count_again_after_a_while() {
    let hub = Arc::new(Hub::default());
    let place = hub.open(&agent("streaming", "edge"));
    hub.record_contact(&AgentId::new("asking"), at(3));
    let contact = |id: &str, second| AgentContact { id: AgentId::new(id), at: at(second) };
    let due = hub.due_contacts(at(10));
    assert_eq!(due, [contact("asking", 3), contact("streaming", 10)]);
    assert_eq!(hub.due_contacts(at(10)), due, "as long as they are not stored");
    hub.record_contact(&AgentId::new("asking"), at(11));
    hub.contacts_stored(&due);
    assert_eq!(hub.due_contacts(at(20)), [contact("asking", 11)], "a later contact is not lost");
    hub.contacts_stored(&[contact("asking", 11)]);
    assert_eq!(hub.due_contacts(at(34)), []);
    assert_eq!(hub.due_contacts(at(35)), [contact("streaming", 35)]);
    drop(place);
    assert_eq!(hub.due_contacts(at(60)), []);
}
