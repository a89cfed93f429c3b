//! People, memberships and sessions.

use windlass_core::access::Role;
use windlass_core::id::{AccountId, SessionId, UserId};
use windlass_core::redacted::Redacted;
use windlass_store::{Session, StoreError, new_id};

use crate::world::{World, at, on_both, plenty, user};

#[test]
fn a_person_is_found_by_id_and_by_address_in_upper_or_lower_case() {
    on_both(|world| async move {
        let ada = world.user("Ada@Example.com").await;
        let mut reading = world.store.read().await.unwrap();
        for key in [ada.id.as_str(), "ada@example.com", "ADA@example.COM"] {
            let found = reading.user(key).await.unwrap().unwrap();
            assert_eq!((&found.id, found.email.as_str()), (&ada.id, "ada@example.com"));
            assert_eq!(found.password_hash.expose(), "hash");
        }
        assert!(reading.user("bob@example.com").await.unwrap().is_none());
        assert_eq!(reading.users_count().await.unwrap(), 1);
        let mut writing = world.store.write().await.unwrap();
        let refused = writing.user_add(&user("ADA@example.com")).await;
        assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
    });
}

#[test]
fn a_membership_is_added_changed_and_removed_with_its_sessions() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (ada, bob) = (world.user("ada@example.com").await, world.user("bob@example.com").await);
        let mut writing = world.store.write().await.unwrap();
        for (account, person, role) in [
            (&acme, &bob, Role::Viewer),
            (&acme, &ada, Role::Viewer),
            (&acme, &ada, Role::Admin),
            (&other, &ada, Role::Viewer),
        ] {
            writing.member_set(account, &person.id, role, at(1)).await.unwrap();
        }
        writing.commit().await.unwrap();
        let (here, there) = (begin(&world, &ada.id, &acme).await, begin(&world, &ada.id, &other).await);

        let mut reading = world.store.read().await.unwrap();
        let members = reading.members(&acme).await.unwrap();
        let members: Vec<(&str, Role)> =
            members.iter().map(|member| (member.user.email.as_str(), member.role)).collect();
        assert_eq!(members, [("ada@example.com", Role::Admin), ("bob@example.com", Role::Viewer)]);
        assert_eq!(reading.member(&acme, "Ada@example.com").await.unwrap().unwrap().role, Role::Admin);
        assert!(reading.member(&other, bob.id.as_str()).await.unwrap().is_none());
        let membership = |id: &AccountId, name: &str, role| (id.clone(), name.to_owned(), role);
        assert_eq!(
            reading.memberships(&ada.id).await.unwrap(),
            [membership(&acme, "acme", Role::Admin), membership(&other, "other", Role::Viewer)]
        );

        let mut writing = world.store.write().await.unwrap();
        assert!(writing.member_remove(&acme, &ada.id, at(2)).await.unwrap());
        assert!(!writing.member_remove(&acme, &ada.id, at(2)).await.unwrap());
        writing.commit().await.unwrap();
        assert!(reading.session(&here, at(2)).await.unwrap().is_none());
        assert!(reading.session(&there, at(2)).await.unwrap().is_some());
    });
}

#[test]
fn a_session_ends_when_it_expires_or_the_password_changes_or_the_person_is_disabled() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let ada = world.user("ada@example.com").await;
        let id = begin(&world, &ada.id, &acme).await;
        let mut reading = world.store.read().await.unwrap();
        let session = reading.session(&id, at(99)).await.unwrap().unwrap();
        assert_eq!((session.user_id, session.account_id), (ada.id.clone(), acme.clone()));
        assert_eq!((session.address.as_str(), session.expires_at), ("192.0.2.1", at(100)));
        assert!(reading.session(&id, at(100)).await.unwrap().is_none());

        let mut writing = world.store.write().await.unwrap();
        writing.session_end(&id).await.unwrap();
        writing.commit().await.unwrap();
        assert!(reading.session(&id, at(2)).await.unwrap().is_none());

        let id = begin(&world, &ada.id, &acme).await;
        let mut writing = world.store.write().await.unwrap();
        writing.user_set_password(&ada.id, &Redacted::new("new".to_owned()), true).await.unwrap();
        writing.commit().await.unwrap();
        assert!(reading.session(&id, at(2)).await.unwrap().is_none());
        let found = reading.user(ada.id.as_str()).await.unwrap().unwrap();
        assert_eq!((found.password_hash.expose().as_str(), found.must_change_password), ("new", true));

        let id = begin(&world, &ada.id, &acme).await;
        let mut writing = world.store.write().await.unwrap();
        writing.user_set_disabled(&ada.id, Some(at(7))).await.unwrap();
        writing.commit().await.unwrap();
        assert!(reading.session(&id, at(2)).await.unwrap().is_none());
        assert_eq!(reading.user(ada.id.as_str()).await.unwrap().unwrap().disabled_at, Some(at(7)));
        let mut writing = world.store.write().await.unwrap();
        writing.user_set_disabled(&ada.id, None).await.unwrap();
        writing.commit().await.unwrap();
        assert_eq!(reading.user(ada.id.as_str()).await.unwrap().unwrap().disabled_at, None);
    });
}

#[test]
fn expired_sessions_are_deleted_and_others_are_kept() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let ada = world.user("ada@example.com").await;
        let id = begin(&world, &ada.id, &acme).await;
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.sessions_delete_old(at(99), &mut plenty()).await.unwrap(), 0);
        assert!(writing.session(&id, at(2)).await.unwrap().is_some());
        assert_eq!(writing.sessions_delete_old(at(100), &mut plenty()).await.unwrap(), 1);
    });
}

async fn begin(world: &World, user_id: &UserId, account_id: &AccountId) -> SessionId {
    let session = Session {
        id: new_id(),
        user_id: user_id.clone(),
        account_id: account_id.clone(),
        address: "192.0.2.1".to_owned(),
        created_at: at(1),
        expires_at: at(100),
    };
    let mut writing = world.store.write().await.unwrap();
    writing.session_add(&session).await.unwrap();
    writing.commit().await.unwrap();
    session.id
}
