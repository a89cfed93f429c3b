//! Notification deliveries: once for each event, retried until they are finished, counted and deleted.

use serde_json::json;
use windlass_core::event::EventKind;
use windlass_core::id::{AccountId, DeliveryId};
use windlass_core::time::Timestamp;
use windlass_store::{Delivery, DeliveryAttempt, DeliveryFilter, DeliveryState, EventBacklog, new_id};

use crate::world::{World, at, on_both, plenty};

fn delivery(account: &AccountId, provider: &str, seq: Option<i64>, second: i64) -> Delivery {
    Delivery {
        id: new_id(),
        account_id: account.clone(),
        alert: if seq.is_some() { "a".to_owned() } else { String::new() },
        provider: provider.to_owned(),
        event_seq: seq,
        event_kind: EventKind::SyncFailed.slug().to_owned(),
        group_key: format!("{provider}-group"),
        message: json!({"text": "x"}),
        state: DeliveryState::Pending,
        attempts: 0,
        repeats: 0,
        next_at: at(second),
        last_error: None,
        since: at(second),
        created_at: at(second),
        finished_at: None,
    }
}

async fn add(world: &World, deliveries: &[Delivery]) -> u64 {
    let mut writing = world.store.write().await.unwrap();
    let added = writing.deliveries_add(deliveries).await.unwrap();
    writing.commit().await.unwrap();
    added
}

async fn record_attempt(world: &World, id: &DeliveryId, state: DeliveryState, next_at: Timestamp) -> bool {
    let mut writing = world.store.write().await.unwrap();
    let attempt = DeliveryAttempt { state, next_at, error: Some("no".to_owned()), at: at(50) };
    let done = writing.delivery_record_attempt(id, &attempt).await.unwrap();
    writing.commit().await.unwrap();
    done
}

#[test]
fn an_event_is_delivered_once_for_each_alert_and_provider() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let other = world.account("other").await;
        assert_eq!(add(&world, &[delivery(&acme, "p", Some(1), 0)]).await, 1);
        assert_eq!(
            add(&world, &[delivery(&acme, "p", Some(1), 0), delivery(&acme, "p", Some(2), 0)]).await,
            1
        );
        assert_eq!(
            add(&world, &[delivery(&acme, "q", Some(1), 0), delivery(&other, "p", Some(1), 0)]).await,
            2
        );
        let no_event = [delivery(&acme, "p", None, 0), delivery(&acme, "p", None, 0)];
        assert_eq!(add(&world, &no_event).await, 2, "digests and tests are of no event");
    });
}

#[test]
fn a_delivery_is_due_until_it_is_finished_and_can_be_retried() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (early, late) = (delivery(&acme, "p", Some(1), 10), delivery(&acme, "p", Some(2), 20));
        add(&world, &[late.clone(), early.clone()]).await;
        let due = async |second: i64| -> Vec<DeliveryId> {
            let mut reading = world.store.read().await.unwrap();
            let due = reading.deliveries_due(at(second), 9).await.unwrap();
            due.into_iter().map(|delivery| delivery.id).collect()
        };
        assert_eq!(due(9).await, Vec::<DeliveryId>::new());
        assert_eq!(due(20).await, [early.id.clone(), late.id.clone()]);

        assert!(record_attempt(&world, &early.id, DeliveryState::Pending, at(30)).await);
        assert!(record_attempt(&world, &late.id, DeliveryState::Sent, at(20)).await);
        assert!(!record_attempt(&world, &late.id, DeliveryState::Failed, at(20)).await, "it arrived already");
        assert_eq!(due(29).await, Vec::<DeliveryId>::new());
        assert!(record_attempt(&world, &early.id, DeliveryState::Failed, at(30)).await);
        let mut reading = world.store.read().await.unwrap();
        let failed = reading.delivery(&acme, &early.id).await.unwrap().unwrap();
        assert_eq!(
            (failed.state, failed.attempts, failed.finished_at),
            (DeliveryState::Failed, 2, Some(at(50)))
        );
        drop(reading);

        let mut writing = world.store.write().await.unwrap();
        assert!(writing.delivery_retry(&acme, &early.id, at(60)).await.unwrap());
        assert!(!writing.delivery_retry(&acme, &late.id, at(60)).await.unwrap(), "it arrived");
        assert!(!writing.delivery_retry(&AccountId::new("other"), &early.id, at(60)).await.unwrap());
        writing.commit().await.unwrap();
        assert_eq!(due(60).await, [early.id]);
    });
}

#[test]
fn repetitions_are_found_within_the_time_window_and_counted() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let first = delivery(&acme, "p", Some(1), 10);
        add(&world, &[first.clone(), delivery(&acme, "q", Some(1), 10)]).await;
        let mut reading = world.store.read().await.unwrap();
        let found = reading.deliveries_of_groups(&acme, &["p-group", "x"], at(9)).await.unwrap();
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [("p-group".to_owned(), first.id.clone())]);
        assert!(reading.deliveries_of_groups(&acme, &["p-group"], at(10)).await.unwrap().is_empty());
        assert!(
            reading
                .deliveries_of_groups(&AccountId::new("other"), &["p-group"], at(0))
                .await
                .unwrap()
                .is_empty()
        );
        drop(reading);
        let mut writing = world.store.write().await.unwrap();
        writing.delivery_add_repeats(&first.id, 3).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.delivery(&acme, &first.id).await.unwrap().unwrap().repeats, 3);
    });
}

#[test]
fn suppressed_deliveries_are_in_one_digest() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let suppressed =
            |seq| Delivery { state: DeliveryState::Suppressed, ..delivery(&acme, "p", Some(seq), 10) };
        add(&world, &[delivery(&acme, "p", Some(1), 10), suppressed(2), suppressed(3)]).await;
        let mut reading = world.store.read().await.unwrap();
        let counted = reading.deliveries_count(&acme, at(9)).await.unwrap();
        assert_eq!(counted.into_iter().collect::<Vec<_>>(), [("p".to_owned(), 1)]);
        let untold = reading.deliveries_without_digest().await.unwrap();
        assert_eq!(untold, [(acme.clone(), "p".to_owned(), 2)]);
        drop(reading);
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(
            writing.deliveries_mark_digested(&acme, "p", &DeliveryId::new("digest")).await.unwrap(),
            2
        );
        assert_eq!(
            writing.deliveries_mark_digested(&acme, "p", &DeliveryId::new("digest")).await.unwrap(),
            0
        );
        writing.commit().await.unwrap();
        assert_eq!(world.store.read().await.unwrap().deliveries_without_digest().await.unwrap(), []);
    });
}

#[test]
fn deliveries_of_an_account_are_listed_by_provider_and_state_newest_first() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let all = [
            delivery(&acme, "p", Some(1), 1),
            delivery(&acme, "q", Some(1), 1),
            delivery(&acme, "p", Some(2), 1),
        ];
        add(&world, &all).await;
        record_attempt(&world, &all[2].id, DeliveryState::Sent, at(1)).await;
        let list = async |account: &AccountId,
                          provider: Option<&str>,
                          state,
                          before: Option<&DeliveryId>|
               -> Vec<DeliveryId> {
            let filter = DeliveryFilter { provider: provider.map(str::to_owned), state };
            let mut reading = world.store.read().await.unwrap();
            let found = reading.deliveries(account, &filter, before, 9).await.unwrap();
            found.into_iter().map(|delivery| delivery.id).collect()
        };
        let ids = all.each_ref().map(|delivery| delivery.id.clone());
        assert_eq!(list(&acme, None, None, None).await, [ids[2].clone(), ids[1].clone(), ids[0].clone()]);
        assert_eq!(list(&acme, Some("p"), None, None).await, [ids[2].clone(), ids[0].clone()]);
        assert_eq!(list(&acme, Some("p"), Some(DeliveryState::Pending), None).await, [ids[0].clone()]);
        assert_eq!(list(&acme, None, None, Some(&ids[1])).await, [ids[0].clone()]);
        assert_eq!(list(&AccountId::new("other"), None, None, None).await, Vec::<DeliveryId>::new());
        assert_eq!(
            world.store.read().await.unwrap().delivery(&AccountId::new("other"), &ids[0]).await.unwrap(),
            None
        );
    });
}

#[test]
fn an_account_has_a_backlog_until_its_events_are_checked() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let backlog = async || world.store.read().await.unwrap().accounts_with_backlog().await.unwrap();
        assert_eq!(backlog().await, []);
        world.events(&acme, &["one", "two"]).await;
        assert_eq!(backlog().await, [EventBacklog { account_id: acme.clone(), last: 2, cursor: None }]);
        let mut writing = world.store.write().await.unwrap();
        writing.cursor_set(&acme, 1).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(backlog().await, [EventBacklog { account_id: acme.clone(), last: 2, cursor: Some(1) }]);
        let mut writing = world.store.write().await.unwrap();
        writing.cursor_set(&acme, 2).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(backlog().await, []);
        let mut writing = world.store.write().await.unwrap();
        writing.cursor_remove(&acme).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(backlog().await.len(), 1);
    });
}

#[test]
fn old_deliveries_are_deleted_unless_they_are_pending() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let all = [
            delivery(&acme, "p", Some(1), 1),
            delivery(&acme, "p", Some(2), 1),
            delivery(&acme, "p", Some(3), 9),
        ];
        add(&world, &all).await;
        record_attempt(&world, &all[0].id, DeliveryState::Sent, at(1)).await;
        record_attempt(&world, &all[2].id, DeliveryState::Sent, at(1)).await;
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.deliveries_delete_old(at(9), &mut plenty()).await.unwrap(), 1);
        writing.commit().await.unwrap();
    });
}
