//! Leases: one holder at a time, and earlier holders are rejected.

use std::time::Duration;

use windlass_core::id::HolderId;
use windlass_store::{Lease, StoreError};

use crate::world::{World, at, on_both, plenty};

const LENGTH: Duration = Duration::from_secs(30);

async fn take(world: &World, holder: &str, second: i64) -> Option<Lease> {
    world.store.lease_take("sync", &HolderId::new(holder), at(second), LENGTH).await.unwrap()
}

async fn check(world: &World, lease: &Lease) -> Result<(), StoreError> {
    let mut writing = world.store.write().await.unwrap();
    writing.lease_check(lease).await?;
    writing.commit().await
}

#[test]
fn a_held_lease_is_not_granted_and_its_next_holder_gets_a_higher_epoch() {
    on_both(|world| async move {
        let first = take(&world, "a", 0).await.unwrap();
        assert_eq!((first.epoch, first.holder.as_str()), (1, "a"));
        assert_eq!(take(&world, "b", 29).await, None);
        assert_eq!(take(&world, "a", 29).await, None, "not even its holder takes it twice");
        let other =
            world.store.lease_take("apply", &HolderId::new("b"), at(0), LENGTH).await.unwrap().unwrap();
        assert_eq!(other.epoch, 1);
        check(&world, &first).await.unwrap();
        assert!(world.store.lease_renew(&first, at(20), LENGTH).await.unwrap());
        assert_eq!(take(&world, "b", 30).await, None, "it was renewed");

        let second = take(&world, "b", 50).await.unwrap();
        assert_eq!(second.epoch, 2);
        assert!(!world.store.lease_renew(&first, at(51), LENGTH).await.unwrap());
        let lost = check(&world, &first).await;
        assert!(matches!(lost, Err(StoreError::LeaseLost { .. })), "{lost:?}");
        check(&world, &second).await.unwrap();
    });
}

#[test]
fn a_released_lease_is_free_and_cannot_be_renewed() {
    on_both(|world| async move {
        let first = take(&world, "a", 0).await.unwrap();
        world.store.lease_release(&first).await.unwrap();
        world.store.lease_release(&first).await.unwrap();
        assert!(!world.store.lease_renew(&first, at(1), LENGTH).await.unwrap());
        let second = take(&world, "a", 1).await.unwrap();
        assert_eq!(second.epoch, 2);
        // The previous holder cannot release it.
        world.store.lease_release(&first).await.unwrap();
        assert_eq!(take(&world, "b", 2).await, None);
    });
}

#[test]
fn ending_all_leases_frees_them() {
    on_both(|world| async move {
        take(&world, "a", 0).await.unwrap();
        world.store.leases_end_all().await.unwrap();
        world.store.leases_end_all().await.unwrap();
        assert_eq!(take(&world, "b", 1).await.unwrap().epoch, 2);
    });
}

#[test]
fn expired_and_released_leases_are_deleted_later() {
    on_both(|world| async move {
        let released =
            world.store.lease_take("one", &HolderId::new("a"), at(0), LENGTH).await.unwrap().unwrap();
        world.store.lease_release(&released).await.unwrap();
        world.store.lease_take("two", &HolderId::new("a"), at(0), LENGTH).await.unwrap().unwrap();
        world.store.lease_take("three", &HolderId::new("a"), at(500), LENGTH).await.unwrap().unwrap();
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.leases_delete_old(at(29), &mut plenty()).await.unwrap(), 0);
        assert_eq!(writing.leases_delete_old(at(30), &mut plenty()).await.unwrap(), 2);
        writing.commit().await.unwrap();
        assert_eq!(world.ask("SELECT name AS answer FROM leases").await, ["three"]);
    });
}

#[test]
fn of_many_holders_that_request_a_lease_one_gets_it() {
    on_both(|world| async move {
        for turn in 0..3 {
            let tasks: Vec<_> = (0..12)
                .map(|number| {
                    let store = world.store.clone();
                    tokio::spawn(async move {
                        let holder = HolderId::new(format!("replica-{number}"));
                        store.lease_take("sync", &holder, at(turn * 100), LENGTH).await.unwrap()
                    })
                })
                .collect();
            let mut taken = Vec::new();
            for task in tasks {
                taken.extend(task.await.unwrap());
            }
            assert_eq!(taken.iter().map(|lease| lease.epoch).collect::<Vec<_>>(), [turn + 1]);
        }
    });
}

#[test]
fn a_lease_taken_before_the_clock_was_set_back_counts_as_expired() {
    on_both(|world| async move {
        let ahead = take(&world, "a", 100_000).await.unwrap();
        let now = take(&world, "b", 10).await.unwrap();
        assert_eq!(now.epoch, 2);
        assert!(matches!(check(&world, &ahead).await, Err(StoreError::LeaseLost { .. })));
        assert_eq!(take(&world, "a", 11).await, None);
        // Replicas whose clocks differ by less than a lease do not take leases from each other.
        assert_eq!(take(&world, "a", -15).await, None);
    });
}
