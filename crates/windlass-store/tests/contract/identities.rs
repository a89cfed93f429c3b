//! Identities of people at single sign-on providers.

use windlass_core::access::Role;
use windlass_store::{Membership, Origin, StoreError};

use crate::world::{at, on_both};

const ISSUER: &str = "https://id.example.com";

#[test]
fn at_an_issuer_a_subject_belongs_to_one_person_and_a_person_has_one_subject() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (ada, bob) = (world.user("ada@example.com").await, world.user("bob@example.com").await);
        let mut writing = world.store.write().await.unwrap();
        writing.identity_add(ISSUER, "1", &ada.id, at(1)).await.unwrap();
        writing.identity_add("https://other.example.com", "1", &bob.id, at(1)).await.unwrap();
        writing.member_set(&acme, &ada.id, Role::Viewer, at(1)).await.unwrap();
        writing.commit().await.unwrap();
        for (subject, person) in [("1", &bob.id), ("2", &ada.id)] {
            let mut writing = world.store.write().await.unwrap();
            let refused = writing.identity_add(ISSUER, subject, person, at(2)).await;
            assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
        }
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.identity_user(ISSUER, "1").await.unwrap().as_ref(), Some(&ada.id));
        assert_eq!(reading.identity_user(ISSUER, "2").await.unwrap(), None);
        assert_eq!(reading.identity_issuers(&ada.id).await.unwrap(), [ISSUER]);
        assert_eq!(reading.identity_members(&acme).await.unwrap(), [ada.id]);
    });
}

#[test]
fn a_membership_records_whether_it_was_last_set_by_groups_or_manually() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let ada = world.user("ada@example.com").await;
        let mut writing = world.store.write().await.unwrap();
        writing.member_grant(&acme, &ada.id, Role::Viewer, at(1)).await.unwrap();
        writing.member_grant(&other, &ada.id, Role::Viewer, at(1)).await.unwrap();
        writing.member_set(&other, &ada.id, Role::Admin, at(2)).await.unwrap();
        let mut expected = [
            Membership { account_id: acme, role: Role::Viewer, origin: Origin::Groups },
            Membership { account_id: other, role: Role::Admin, origin: Origin::Manual },
        ];
        expected.sort_by(|one, other| one.account_id.cmp(&other.account_id));
        assert_eq!(writing.membership_origins(&ada.id).await.unwrap(), expected);
    });
}
