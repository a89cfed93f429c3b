//! Several processes on one database: they hear of each other, and what a dead one held is free again.

use std::time::Duration;

use windlass_core::id::HolderId;
use windlass_store::{Store, StoreError};

use crate::world::{at, event, on_postgres, on_sqlite};

const LENGTH: Duration = Duration::from_secs(3600);

#[test]
fn another_replica_hears_of_what_is_written() {
    on_postgres(|world| async move {
        let acme = world.account("acme").await;
        let other = Store::open(&world.address).await.unwrap();
        let mut listener = other.listen().await.unwrap().unwrap();
        for _ in 0..3 {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.event(event("something"));
            writing.commit().await.unwrap();
            listener.heard().await.unwrap();
        }
        drop(listener);
        other.close().await;
    });
}

#[test]
fn what_a_dead_replica_held_is_free_and_it_can_save_nothing_any_more() {
    on_postgres(|world| async move {
        let dead = Store::open(&world.address).await.unwrap();
        dead.beat(LENGTH).await.unwrap();
        let held = dead.lease_take("sync:1", &HolderId::new("dead"), at(0), LENGTH).await.unwrap().unwrap();
        let own =
            world.store.lease_take("sync:2", &HolderId::new("alive"), at(0), LENGTH).await.unwrap().unwrap();
        assert_eq!(world.store.beat(LENGTH).await.unwrap(), 0, "it is not silent for long enough");
        // Its clock may stand at the same millisecond still.
        while world.store.beat(Duration::ZERO).await.unwrap() == 0 {}
        let taken =
            world.store.lease_take("sync:1", &HolderId::new("alive"), at(1), LENGTH).await.unwrap().unwrap();
        assert_eq!(taken.epoch, held.epoch + 1);
        assert!(world.store.lease_renew(&own, at(1), LENGTH).await.unwrap(), "its own are not given back");
        assert!(!dead.lease_renew(&held, at(1), LENGTH).await.unwrap());
        let mut writing = dead.write().await.unwrap();
        let late = writing.lease_check(&held).await;
        assert!(matches!(late, Err(StoreError::LeaseLost { .. })), "{late:?}");
        drop(writing);
        dead.close().await;
    });
}

#[test]
fn one_that_left_is_not_missed_and_one_that_never_said_anything_keeps_what_it_holds() {
    on_postgres(|world| async move {
        let other = Store::open(&world.address).await.unwrap();
        other.lease_take("sync:1", &HolderId::new("other"), at(0), LENGTH).await.unwrap().unwrap();
        assert_eq!(world.store.beat(Duration::ZERO).await.unwrap(), 0, "an older version says nothing");
        other.beat(LENGTH).await.unwrap();
        other.leave().await.unwrap();
        assert_eq!(world.ask("SELECT CAST(COUNT(*) AS TEXT) AS answer FROM replicas").await, ["1"]);
        other.close().await;
    });
}

#[test]
fn an_embedded_database_has_one_process_alone() {
    on_sqlite(|world| async move {
        assert!(!world.store.is_shared());
        assert!(world.store.listen().await.unwrap().is_none());
        assert_eq!(world.store.beat(Duration::ZERO).await.unwrap(), 0);
        world.store.leave().await.unwrap();
    });
}
