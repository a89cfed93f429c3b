//! Webhooks.

use windlass_core::digest::Digest;
use windlass_core::forge::WebhookSender;
use windlass_store::{ReceivedDelivery, RejectedDelivery, Webhook, unique_text};

use crate::world::{at, on_both, plenty};

fn received(second: i64, outcome: &str) -> ReceivedDelivery {
    let text = |text: &str| text.to_owned();
    ReceivedDelivery {
        at: at(second),
        from: WebhookSender::GitHub,
        event: text("push"),
        outcome: text(outcome),
    }
}

#[test]
fn a_webhook_is_found_only_by_id_or_by_account_and_name() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let fleet = world.repository(&acme, "fleet").await;
        let namesake = world.repository(&other, "fleet").await;
        let mut reading = world.store.read().await.unwrap();
        for (address, found) in [
            (fleet.id.as_str(), Some(&fleet.id)),
            ("acme:fleet", Some(&fleet.id)),
            ("other:fleet", Some(&namesake.id)),
            ("fleet", None),
            ("acme", None),
            (":fleet", None),
            ("acme:", None),
            ("acme:fleet:", None),
            ("", None),
            (unique_text().as_str(), None),
        ] {
            let repository = reading.repository_of_webhook(address).await.unwrap();
            assert_eq!(repository.map(|it| it.id).as_ref(), found, "{address}");
        }
    });
}

#[test]
fn the_last_deliveries_are_stored_and_rotation_changes_only_the_generation() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let fleet = world.repository(&acme, "fleet").await;
        let second = world.repository(&acme, "second").await.id;
        let mut writing = world.store.write().await.unwrap();
        let none = Webhook { generation: 1, received: None, refused: None };
        assert_eq!(writing.webhook(&fleet.id).await.unwrap(), none);
        writing.webhook_set_last_received(&fleet.id, &received(1, "ignored")).await.unwrap();
        writing.webhook_set_last_received(&fleet.id, &received(2, "accepted")).await.unwrap();
        let refused =
            RejectedDelivery { at: at(3), from: "192.0.2.7".to_owned(), reason: "wrong".to_owned() };
        writing.webhook_set_last_rejected(&fleet.id, &refused).await.unwrap();
        assert_eq!(writing.webhook_rotate(&fleet.id).await.unwrap(), 2);
        assert_eq!(writing.webhook_rotate(&fleet.id).await.unwrap(), 3);
        let last = Webhook { generation: 3, received: Some(received(2, "accepted")), refused: Some(refused) };
        assert_eq!(writing.webhook(&fleet.id).await.unwrap(), last);
        assert_eq!(
            writing.webhook_rotate(&second).await.unwrap(),
            2,
            "the first secret counts without a row"
        );
    });
}

#[test]
fn a_delivery_is_new_once_until_it_is_deleted() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (one, two) = (world.repository(&acme, "one").await.id, world.repository(&acme, "two").await.id);
        let identity = Digest::of(b"body");
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.webhook_delivery_record(&one, identity, at(1)).await.unwrap());
        assert!(!writing.webhook_delivery_record(&one, identity, at(9)).await.unwrap());
        assert!(
            writing.webhook_delivery_record(&two, identity, at(2)).await.unwrap(),
            "each repository by itself"
        );
        assert!(writing.webhook_delivery_record(&one, Digest::of(b"other"), at(2)).await.unwrap());
        assert_eq!(writing.webhook_deliveries_delete_old(at(2), &mut plenty()).await.unwrap(), 1);
        assert!(writing.webhook_delivery_record(&one, identity, at(3)).await.unwrap());
        assert!(!writing.webhook_delivery_record(&two, identity, at(3)).await.unwrap());
    });
}

#[test]
fn a_webhook_only_advances_the_next_sync_and_is_removed_with_its_repository() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let fleet = world.repository(&acme, "fleet").await;
        let mut writing = world.store.write().await.unwrap();
        for (asked, then) in [(50, 50), (90, 50), (20, 20)] {
            if asked == 50 {
                writing.repository_schedule(&fleet.id, at(60)).await.unwrap();
            }
            writing.repository_sync_by(&fleet.id, at(asked)).await.unwrap();
            let next = writing.repository(&acme, fleet.id.as_str()).await.unwrap().unwrap().next_sync_at;
            assert_eq!(next, at(then), "{asked}");
        }
        writing.webhook_delivery_record(&fleet.id, Digest::of(b"body"), at(1)).await.unwrap();
        writing.repository_move(&fleet, &other, at(2)).await.unwrap();
        assert_eq!(
            writing.webhook(&fleet.id).await.unwrap().generation,
            2,
            "the old account knows the first"
        );
        writing.repository_remove(&fleet.id).await.unwrap();
        assert_eq!(writing.webhook(&fleet.id).await.unwrap().generation, 1, "nothing is left");
        writing.commit().await.unwrap();
    });
}
