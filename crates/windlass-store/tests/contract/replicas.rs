//! Several processes on one database: they notify each other of writes, and the leases of a crashed one are released.

use std::time::Duration;

use windlass_core::id::HolderId;
use windlass_store::{Store, StoreError};

use crate::world::{at, event, on_postgres, on_sqlite};

const LENGTH: Duration = Duration::from_secs(3600);

#[test]
fn other_replicas_are_notified_of_writes() {
    on_postgres(|world| async move {
        let acme = world.account("acme").await;
        let other = Store::open(&world.address).await.unwrap();
        let mut listener = other.listen().await.unwrap().unwrap();
        for _ in 0..3 {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.event(event("something"));
            writing.commit().await.unwrap();
            listener.wait_for_news().await.unwrap();
        }
        drop(listener);
        other.close().await;
    });
}

#[test]
fn leases_of_a_crashed_replica_are_released_and_it_can_save_nothing() {
    on_postgres(|world| async move {
        let crashed = Store::open(&world.address).await.unwrap();
        crashed.heartbeat(LENGTH).await.unwrap();
        let held =
            crashed.lease_take("sync:1", &HolderId::new("dead"), at(0), LENGTH).await.unwrap().unwrap();
        let own =
            world.store.lease_take("sync:2", &HolderId::new("alive"), at(0), LENGTH).await.unwrap().unwrap();
        assert_eq!(world.store.heartbeat(LENGTH).await.unwrap(), 0, "it is not silent for long enough");
        // The clock of the database may still be at the same millisecond.
        while world.store.heartbeat(Duration::ZERO).await.unwrap() == 0 {}
        let taken =
            world.store.lease_take("sync:1", &HolderId::new("alive"), at(1), LENGTH).await.unwrap().unwrap();
        assert_eq!(taken.epoch, held.epoch + 1);
        assert!(world.store.lease_renew(&own, at(1), LENGTH).await.unwrap(), "its own are not given back");
        assert!(!crashed.lease_renew(&held, at(1), LENGTH).await.unwrap());
        let mut writing = crashed.write().await.unwrap();
        let late = writing.lease_check(&held).await;
        assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{late:?}");
        drop(writing);
        crashed.close().await;
    });
}

#[test]
fn a_replica_that_stopped_is_removed_and_one_without_heartbeats_keeps_its_leases() {
    on_postgres(|world| async move {
        let other = Store::open(&world.address).await.unwrap();
        other.lease_take("sync:1", &HolderId::new("other"), at(0), LENGTH).await.unwrap().unwrap();
        assert_eq!(world.store.heartbeat(Duration::ZERO).await.unwrap(), 0, "an older version says nothing");
        other.heartbeat(LENGTH).await.unwrap();
        other.deregister_replica().await.unwrap();
        assert_eq!(world.ask("SELECT CAST(COUNT(*) AS TEXT) AS answer FROM replicas").await, ["1"]);
        other.close().await;
    });
}

#[test]
fn an_embedded_database_has_only_one_process() {
    on_sqlite(|world| async move {
        assert!(!world.store.is_shared());
        assert!(world.store.listen().await.unwrap().is_none());
        assert_eq!(world.store.heartbeat(Duration::ZERO).await.unwrap(), 0);
        world.store.deregister_replica().await.unwrap();
    });
}
