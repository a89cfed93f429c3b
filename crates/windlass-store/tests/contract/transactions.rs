//! Transactions: everything in them is committed together, or nothing.

use windlass_core::id::AccountId;
use windlass_core::proposal::Status;
use windlass_store::{EventFilter, EventOrder, Store, StoreError};

use crate::proposals::moved;
use crate::world::{at, entry, event, node, node_key, on_both, user};

async fn event_messages(store: &Store, account_id: &AccountId) -> Vec<String> {
    let mut reading = store.read().await.unwrap();
    let order = EventOrder::OldestAfter(0);
    let events = reading.events(account_id, &EventFilter::default(), order, 100).await.unwrap();
    events.into_iter().map(|event| event.message).collect()
}

#[test]
fn after_a_failed_statement_a_transaction_rejects_everything_and_saves_nothing() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.user("ada@example.com").await;
        for with_event in [false, true] {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.setting_put("early", "x").await.unwrap();
            let refused = writing.user_add(&user("ada@example.com")).await;
            assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
            assert!(matches!(writing.setting_put("late", "x").await, Err(StoreError::TransactionFailed)));
            if with_event {
                writing.event(event("lost"));
            }
            let refused = writing.commit().await;
            assert!(matches!(refused, Err(StoreError::TransactionFailed)), "{refused:?}");
            let mut reading = world.store.read().await.unwrap();
            assert_eq!(reading.setting("early").await.unwrap(), None);
            assert!(event_messages(&world.store, &acme).await.is_empty());
        }
    });
}

#[test]
fn a_dropped_transaction_leaves_nothing_and_blocks_nobody() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        for _ in 0..20 {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.resource_put(&node_key("a"), &node("eu"), None, "ada", at(1)).await.unwrap();
            writing.event(event("lost"));
            drop(writing);
        }
        world.events(&acme, &["kept"]).await;
        assert_eq!(event_messages(&world.store, &acme).await, ["kept"]);
        assert!(world.store.read().await.unwrap().resources_all(&acme, None).await.unwrap().is_empty());
    });
}

#[test]
fn aborted_writers_leave_nothing_and_block_nobody() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        for round in 0..60 {
            let (store, account) = (world.store.clone(), acme.clone());
            let task = tokio::spawn(async move {
                let mut writing = store.write_account(&account).await.unwrap();
                writing.setting_put("lost", "x").await.unwrap();
                writing.event(event("lost"));
                std::future::pending::<()>().await;
            });
            // Each time a little later: while it waits for the lock, begins or writes.
            for _ in 0..round {
                tokio::task::yield_now().await;
            }
            task.abort();
        }
        world.events(&acme, &["kept"]).await;
        assert_eq!(event_messages(&world.store, &acme).await, ["kept"]);
        assert_eq!(world.store.read().await.unwrap().setting("lost").await.unwrap(), None);
    });
}

#[test]
fn uncommitted_writes_are_not_visible() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.resource_put(&node_key("a"), &node("eu"), None, "ada", at(1)).await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert!(reading.resource(&acme, &node_key("a")).await.unwrap().is_none());
        assert!(writing.resource(&acme, &node_key("a")).await.unwrap().is_some());
        writing.commit().await.unwrap();
        assert!(reading.resource(&acme, &node_key("a")).await.unwrap().is_some());
    });
}

#[test]
fn a_missing_account_cannot_be_written() {
    on_both(|world| async move {
        let refused = world.store.write_account(&AccountId::new("nobody")).await.err();
        assert!(matches!(refused, Some(StoreError::NoAccount { .. })), "{refused:?}");
        world.account("acme").await;
    });
}

#[test]
fn committed_data_is_there_after_reopening() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        let id = world.proposals(&run, &["edge"]).await.remove(0).id;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        writing.proposal_move(&id, &moved(Status::PendingApproval, Status::Approved)).await.unwrap();
        writing.audit(entry("edge"));
        writing.event(event("approved"));
        writing.commit().await.unwrap();
        world.store.close().await;
        let store = Store::open(&world.address).await.unwrap();
        assert_eq!(event_messages(&store, &acme).await, ["approved"]);
        let found = store.read().await.unwrap().proposal(&acme, &id).await.unwrap().unwrap();
        assert_eq!(found.status, Status::Approved);
        store.close().await;
    });
}

#[test]
fn a_transaction_of_two_accounts_writes_into_both_chains_or_into_none() {
    on_both(|world| async move {
        let (acme, globex) = (world.account("acme").await, world.account("globex").await);
        for (first, other) in [(&acme, &globex), (&globex, &acme)] {
            let mut writing = world.store.write_accounts(first, other).await.unwrap();
            assert_eq!(writing.account_id(), first);
            writing.audit(entry("first"));
            writing.event(event("first"));
            writing.switch_account(other);
            assert_eq!(writing.account_id(), other);
            writing.audit(entry("other"));
            drop(writing);
        }
        let mut writing = world.store.write_accounts(&globex, &acme).await.unwrap();
        writing.audit(entry("left"));
        writing.switch_account(&acme);
        writing.audit(entry("came"));
        writing.event(event("came"));
        writing.commit().await.unwrap();
        let audited = "SELECT target AS answer FROM audit WHERE account_id = ";
        assert_eq!(world.ask(&format!("{audited}'{globex}'")).await, ["left"]);
        assert_eq!(world.ask(&format!("{audited}'{acme}'")).await, ["came"]);
        assert_eq!(event_messages(&world.store, &acme).await, ["came"]);
        assert_eq!(event_messages(&world.store, &globex).await, [""; 0]);
    });
}
