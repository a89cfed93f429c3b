//! Counts of failed sign-ins, and the address blocks from which people signed in.

use std::time::Duration;

use windlass_core::id::UserId;
use windlass_core::inbound::throttle::FailureCount;

use crate::world::{at, on_both, plenty};

#[test]
fn failures_are_counted_uncounted_cleared_and_deleted() {
    on_both(|world| async move {
        let mut writing = world.store.write().await.unwrap();
        for second in 1..=3 {
            writing.failure_add("ada", None, at(second)).await.unwrap();
        }
        writing.failure_add("bob", None, at(9)).await.unwrap();
        for subject in ["ada", "nobody"] {
            writing.failures_lock(subject).await.unwrap();
        }
        assert_eq!(writing.failures("ada").await.unwrap(), Some(FailureCount { count: 3, last_at: at(3) }));
        assert_eq!(writing.failures("nobody").await.unwrap(), None);
        writing.failure_undo("ada").await.unwrap();
        assert_eq!(writing.failures("ada").await.unwrap(), Some(FailureCount { count: 2, last_at: at(3) }));
        assert_eq!(writing.failures_delete_old(at(9), 100, &mut plenty()).await.unwrap(), 1);
        assert_eq!(writing.failures("ada").await.unwrap(), None);
        writing.failures_clear("bob").await.unwrap();
        assert_eq!(writing.failures("bob").await.unwrap(), None);
        for subject in ["p:1:a", "p:1:b", "p:2:a"] {
            writing.failure_add(subject, None, at(10)).await.unwrap();
        }
        writing.failures_clear_all("p:1:").await.unwrap();
        assert_eq!(writing.failures_count().await.unwrap(), 1);
    });
}

#[test]
fn failure_counts_decrease_by_one_after_each_given_time() {
    on_both(|world| async move {
        let mut writing = world.store.write().await.unwrap();
        let each = Some(Duration::from_secs(10));
        for _ in 0..5 {
            writing.failure_add("block", each, at(0)).await.unwrap();
        }
        writing.failure_add("block", each, at(25)).await.unwrap();
        assert_eq!(
            writing.failures("block").await.unwrap(),
            Some(FailureCount { count: 4, last_at: at(25) })
        );
        writing.failure_add("block", each, at(25 + 40)).await.unwrap();
        assert_eq!(
            writing.failures("block").await.unwrap(),
            Some(FailureCount { count: 1, last_at: at(65) })
        );
    });
}

#[test]
fn the_number_of_subjects_is_limited_and_the_newest_are_kept() {
    on_both(|world| async move {
        let mut writing = world.store.write().await.unwrap();
        for number in 0..50 {
            writing.failure_add(&format!("s{number:02}"), None, at(number)).await.unwrap();
        }
        assert_eq!(writing.failures_delete_old(at(0), 20, &mut plenty()).await.unwrap(), 30);
        assert_eq!(writing.failures_count().await.unwrap(), 20);
        assert!(writing.failures("s49").await.unwrap().is_some());
        assert!(writing.failures("s29").await.unwrap().is_none());
    });
}

#[test]
fn sign_in_address_blocks_are_kept_for_a_limited_time_and_number() {
    on_both(|world| async move {
        let user = world.user("ada@example.com").await;
        let mut writing = world.store.write().await.unwrap();
        assert!(!writing.sign_in_place_is_known(&user.id, "192.0.2.1").await.unwrap());
        writing.sign_in_place_record(&user.id, "192.0.2.1", at(1)).await.unwrap();
        assert!(writing.sign_in_place_is_known(&user.id, "192.0.2.1").await.unwrap());
        assert!(!writing.sign_in_place_is_known(&UserId::new("another"), "192.0.2.1").await.unwrap());
        for number in 2..50 {
            writing.sign_in_place_record(&user.id, &format!("192.0.2.{number}"), at(number)).await.unwrap();
        }
        assert!(!writing.sign_in_place_is_known(&user.id, "192.0.2.1").await.unwrap());
        assert!(writing.sign_in_place_is_known(&user.id, "192.0.2.49").await.unwrap());
        assert_eq!(writing.sign_in_places_delete_old(at(49), &mut plenty()).await.unwrap(), 31);
        assert!(writing.sign_in_place_is_known(&user.id, "192.0.2.49").await.unwrap());
    });
}
