//! Invitations, tokens of removed members, and roles that groups confirm.

use windlass_core::access::Role;
use windlass_core::id::{AccountId, UserId};
use windlass_store::{Invitation, Origin, Token, new_id};

use crate::world::{World, at, on_both, plenty};

fn invitation(account_id: &AccountId, email: &str, by: &UserId, expires: i64) -> Invitation {
    Invitation {
        id: new_id(),
        account_id: account_id.clone(),
        email: email.to_owned(),
        role: Role::Viewer,
        invited_by: by.clone(),
        created_at: at(1),
        expires_at: at(expires),
        declined_at: None,
    }
}

async fn put(world: &World, invitation: &Invitation) -> Invitation {
    let mut writing = world.store.write().await.unwrap();
    let put = writing.invitation_put(invitation).await.unwrap();
    writing.commit().await.unwrap();
    put
}

#[test]
fn an_invitation_is_found_by_account_and_address_until_it_expires_and_stays_declined() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let ada = world.user("ada@example.com").await;
        let first = put(&world, &invitation(&acme, "Bob@Example.com", &ada.id, 100)).await;
        assert_eq!(first.email, "bob@example.com");
        put(&world, &invitation(&acme, "late@example.com", &ada.id, 10)).await;
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.invitations(&acme, at(5)).await.unwrap().len(), 2);
        assert_eq!(reading.invitations(&acme, at(10)).await.unwrap(), std::slice::from_ref(&first));
        assert!(reading.invitations(&other, at(5)).await.unwrap().is_empty());
        assert_eq!(
            reading.invitations_to("BOB@example.com", at(5)).await.unwrap(),
            std::slice::from_ref(&first)
        );
        assert!(reading.invitations_to("bob@example.com", at(100)).await.unwrap().is_empty());

        let mut writing = world.store.write().await.unwrap();
        writing.invitation_decline(&first.id, at(6)).await.unwrap();
        writing.commit().await.unwrap();
        assert!(reading.invitations_to("bob@example.com", at(7)).await.unwrap().is_empty());
        let again = Invitation { role: Role::Admin, ..invitation(&acme, "bob@example.com", &ada.id, 200) };
        let again = put(&world, &again).await;
        assert_eq!((again.id.as_str(), again.role), (first.id.as_str(), Role::Admin));
        assert_eq!((again.declined_at, again.expires_at), (Some(at(6)), at(200)));
        assert!(reading.invitations_to("bob@example.com", at(7)).await.unwrap().is_empty());

        let mut writing = world.store.write().await.unwrap();
        assert!(!writing.invitation_remove(&other, &first.id).await.unwrap(), "not another account's");
        assert!(writing.invitation_remove(&acme, &first.id).await.unwrap());
        assert_eq!(writing.invitations_delete_old(at(10), &mut plenty()).await.unwrap(), 1);
        writing.commit().await.unwrap();
        assert!(reading.invitations(&acme, at(5)).await.unwrap().is_empty());
    });
}

#[test]
fn tokens_are_revoked_with_a_membership_or_all_at_once_and_others_are_kept() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let (ada, bob) = (world.user("ada@example.com").await, world.user("bob@example.com").await);
        let mut writing = world.store.write().await.unwrap();
        for (account, person) in [(&acme, &ada), (&other, &ada), (&acme, &bob)] {
            writing.member_set(account, &person.id, Role::Viewer, at(1)).await.unwrap();
            let token = Token {
                id: new_id(),
                account_id: account.clone(),
                name: "t".to_owned(),
                permissions: Vec::new(),
                created_by: person.id.clone(),
                created_at: at(1),
                expires_at: None,
                last_used_at: None,
                revoked_at: None,
            };
            writing.token_add(&token, token.id.as_str()).await.unwrap();
        }
        writing.member_remove(&acme, &ada.id, at(2)).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let count_valid =
            |tokens: Vec<Token>| tokens.iter().filter(|token| token.revoked_at.is_none()).count();
        assert_eq!(count_valid(reading.tokens(&acme).await.unwrap()), 1, "the other person's");
        assert_eq!(count_valid(reading.tokens(&other).await.unwrap()), 1);
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.tokens_revoke_all(&ada.id, at(3)).await.unwrap(), 1);
        writing.commit().await.unwrap();
        assert_eq!(count_valid(reading.tokens(&other).await.unwrap()), 0);
        assert_eq!(count_valid(reading.tokens(&acme).await.unwrap()), 1);
    });
}

#[test]
fn groups_confirm_only_the_roles_they_gave() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let ada = world.user("ada@example.com").await;
        let mut writing = world.store.write().await.unwrap();
        writing.member_grant(&acme, &ada.id, Role::Viewer, at(1)).await.unwrap();
        writing.member_set(&other, &ada.id, Role::Viewer, at(1)).await.unwrap();
        writing.memberships_prove(&ada.id, at(9)).await.unwrap();
        writing.identity_add("https://id", "1", &ada.id, at(1)).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let groups = reading.member(&acme, ada.id.as_str()).await.unwrap().unwrap();
        assert_eq!((groups.origin, groups.proved_at), (Origin::Groups, at(9)));
        let manual = reading.member(&other, ada.id.as_str()).await.unwrap().unwrap();
        assert_eq!((manual.origin, manual.proved_at), (Origin::Manual, at(1)));
        assert!(reading.identity_unverified(&ada.id).await.unwrap());
        let mut writing = world.store.write().await.unwrap();
        writing.identity_set_verified("https://id", "1", true).await.unwrap();
        writing.commit().await.unwrap();
        assert!(!reading.identity_unverified(&ada.id).await.unwrap());
        assert!(!reading.identity_unverified(&UserId::new("nobody")).await.unwrap());
    });
}

#[test]
fn administrators_who_may_sign_in_are_listed_first() {
    on_both(|world| async move {
        let (ada, bob) = (world.user("ada@example.com").await, world.user("bob@example.com").await);
        let mut writing = world.store.write().await.unwrap();
        writing.user_make_root(&ada.id).await.unwrap();
        writing.user_make_root(&bob.id).await.unwrap();
        writing.user_set_disabled(&ada.id, Some(at(2))).await.unwrap();
        writing.commit().await.unwrap();
        let roots = world.store.read().await.unwrap().users_root().await.unwrap();
        assert_eq!(roots.iter().map(|root| &root.id).collect::<Vec<_>>(), [&bob.id, &ada.id]);
    });
}
