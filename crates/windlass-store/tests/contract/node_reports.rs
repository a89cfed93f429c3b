//! Reports of targets: when they arrived, events that wait for their numbers, contacts, and what is left of ended nodes.

use serde_json::json;
use windlass_core::event::{EventKind, Severity};
use windlass_core::id::AccountId;
use windlass_core::observed::Generation;
use windlass_core::report::AnnouncedContact;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::time::Timestamp;
use windlass_store::{EventFilter, EventOrder, NewAgentEvent, NewAssignment, NewNodeReport, NodeReport};

use crate::world::{World, at, ended, node_key, on_both, plenty};

async fn put(world: &World, report: NewNodeReport<'_>) {
    let mut writing = world.store.write().await.unwrap();
    writing.node_reports_put(&[report]).await.unwrap();
    writing.commit().await.unwrap();
}

fn arrived<'r>(account_id: &'r AccountId, target: &'r ResourceKey, now: Timestamp) -> NewNodeReport<'r> {
    NewNodeReport {
        account_id,
        target,
        at: now,
        complete_at: None,
        drift_left_out: None,
        events_dropped: 0,
        facts: None,
    }
}

#[test]
fn what_a_report_leaves_out_stays_as_it_was() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let edge = node_key("edge");
        let stored = || async { world.store.read().await.unwrap().node_report(&acme, &edge).await.unwrap() };
        assert_eq!(stored().await, NodeReport::default());
        let facts = json!({"os": "Debian"});
        let first = arrived(&acme, &edge, at(1));
        put(
            &world,
            NewNodeReport { complete_at: Some(at(1)), drift_left_out: Some(4), facts: Some(&facts), ..first },
        )
        .await;
        put(&world, NewNodeReport { events_dropped: 2, ..arrived(&acme, &edge, at(2)) }).await;
        put(&world, NewNodeReport { events_dropped: 3, ..arrived(&acme, &edge, at(3)) }).await;
        let expected = NodeReport {
            reported_at: Some(at(3)),
            complete_at: Some(at(1)),
            observe_requested_at: None,
            drift_left_out: 4,
            events_dropped: 5,
            facts: Some(facts),
        };
        assert_eq!(stored().await, expected);
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.node_reports(&acme).await.unwrap().get(Kind::Node, "edge"), Some(&expected));
        let some = reading.node_reports_of(&[(&acme, &edge), (&acme, &node_key("core"))]).await.unwrap();
        assert_eq!(some, [((acme.clone(), edge.clone()), expected)]);
    });
}

#[test]
fn a_request_to_observe_is_open_until_a_complete_report_arrives() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let edge = node_key("edge");
        let stored = || async { world.store.read().await.unwrap().node_report(&acme, &edge).await.unwrap() };
        for (asked, complete) in [(1, 2), (5, 6)] {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.observe_request(&edge, at(asked)).await.unwrap();
            writing.commit().await.unwrap();
            assert!(stored().await.is_complete_report_wanted());
            put(&world, arrived(&acme, &edge, at(asked))).await;
            assert!(stored().await.is_complete_report_wanted());
            let complete_at = Some(at(complete));
            put(&world, NewNodeReport { complete_at, ..arrived(&acme, &edge, at(complete)) }).await;
            assert!(!stored().await.is_complete_report_wanted());
        }
    });
}

fn started(account_id: &AccountId, name: &str, message: &str) -> NewAgentEvent {
    NewAgentEvent {
        account_id: account_id.clone(),
        target: node_key(name),
        kind: EventKind::AgentStarted,
        severity: Severity::Low,
        message: message.to_owned(),
        payload: json!({"version": "1"}),
        at: at(7),
    }
}

#[test]
fn events_of_agents_are_numbered_in_their_order_and_once() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let mut writing = world.store.write().await.unwrap();
        let events = vec![
            started(&acme, "edge", "one"),
            started(&acme, "core", "two"),
            started(&other, "edge", "three"),
        ];
        writing.agent_events_add(events).await.unwrap();
        writing.commit().await.unwrap();
        let accounts = || async { world.store.read().await.unwrap().agent_events_accounts().await.unwrap() };
        assert_eq!(accounts().await.len(), 2);
        for expected in [1, 1, 0] {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            assert_eq!(writing.agent_events_number(1).await.unwrap(), expected);
            writing.keep_state();
            writing.commit().await.unwrap();
        }
        assert_eq!(accounts().await, std::slice::from_ref(&other));
        let mut reading = world.store.read().await.unwrap();
        let filter = EventFilter { kind: Some("agent.".to_owned()), ..EventFilter::default() };
        let events = reading.events(&acme, &filter, EventOrder::OldestAfter(0), 10).await.unwrap();
        let messages: Vec<&str> = events.iter().map(|event| event.message.as_str()).collect();
        assert_eq!(messages, ["one", "two"]);
        assert_eq!(events[0].resource_name.as_deref(), Some("edge"));
        assert_eq!(
            (events[0].kind.as_str(), events[0].source.as_str()),
            ("agent.started", "agent of node edge")
        );
    });
}

#[test]
fn the_announced_contact_of_a_target_is_replaced() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        for state in [AnnouncedContact::Online, AnnouncedContact::Offline] {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.target_contacts_put(&[(node_key("edge"), state)], at(1)).await.unwrap();
            writing.commit().await.unwrap();
            let contacts = world.store.read().await.unwrap().target_contacts(&acme).await.unwrap();
            assert_eq!(contacts.get(Kind::Node, "edge"), Some(&state));
        }
    });
}

#[test]
fn an_assignment_can_be_issued_again_under_the_next_generation() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (edge, digest) = (node_key("edge"), windlass_core::digest::Digest::of(b"one"));
        let mut writing = world.store.write_account(&acme).await.unwrap();
        assert_eq!(writing.assignment_reissue(&edge, at(1)).await.unwrap(), None);
        let new = NewAssignment {
            target: &edge,
            document: "one",
            digest,
            own_approvals: "[]",
            shared_approvals: "[]",
        };
        writing.assignments_put(&acme, &[new], at(1)).await.unwrap();
        assert_eq!(writing.assignment_reissue(&edge, at(2)).await.unwrap(), Some(Generation(2)));
        assert_eq!(writing.assignment(&acme, &edge).await.unwrap().unwrap().digest, digest);
        assert_eq!(writing.assignments_put(&acme, &[new], at(3)).await.unwrap(), 0, "it is assigned already");
        writing.commit().await.unwrap();
    });
}

#[test]
fn what_was_reported_of_a_node_is_deleted_some_time_after_the_node_ended() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        for name in ["kept", "ended"] {
            world.node(&acme, name, None).await;
            put(&world, arrived(&acme, &node_key(name), at(1))).await;
        }
        let delete = |before| {
            let world = &world;
            async move {
                let mut writing = world.store.write().await.unwrap();
                let deleted = writing.targets_delete_old(before, &mut plenty()).await.unwrap();
                writing.commit().await.unwrap();
                deleted
            }
        };
        assert_eq!(delete(at(9)).await, 0, "both exist");
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.resource_remove(ended(&node_key("ended")), at(2)).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!((delete(at(1)).await, delete(at(2)).await), (0, 1));
        let left = world.store.read().await.unwrap().node_reports(&acme).await.unwrap();
        assert_eq!(left.len(), 1);
    });
}
