//! API tokens.

use windlass_core::id::{AccountId, TokenId, UserId};
use windlass_store::{StoreError, Token, new_id};

use crate::world::{at, on_both};

fn token(account_id: &AccountId, user_id: &UserId) -> Token {
    Token {
        id: new_id(),
        account_id: account_id.clone(),
        name: "deploy \"all\"".to_owned(),
        permissions: vec!["proposals.approve".to_owned(), "ü\\\"".to_owned()],
        created_by: user_id.clone(),
        created_at: at(1),
        expires_at: Some(at(100)),
        last_used_at: None,
        revoked_at: None,
    }
}

#[test]
fn a_token_is_found_by_its_hash_and_listed_newest_first() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let ada = world.user("ada@example.com").await;
        let (first, second) = (token(&acme, &ada.id), token(&acme, &ada.id));
        let mut writing = world.store.write().await.unwrap();
        writing.token_add(&first, "hash-1").await.unwrap();
        writing.token_add(&second, "hash-2").await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        let found = reading.token_by_hash("hash-1").await.unwrap().unwrap();
        assert_eq!((&found.id, &found.permissions), (&first.id, &first.permissions));
        assert_eq!((found.name, found.expires_at, found.created_by), (first.name, first.expires_at, ada.id));
        assert!(reading.token_by_hash("hash-3").await.unwrap().is_none());
        let ids: Vec<TokenId> = reading.tokens(&acme).await.unwrap().into_iter().map(|it| it.id).collect();
        assert_eq!(ids, [second.id.clone(), first.id]);

        let mut writing = world.store.write().await.unwrap();
        let refused = writing.token_add(&token(&acme, &second.created_by), "hash-2").await;
        assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
    });
}

#[test]
fn a_token_is_revoked_once_and_only_by_its_account() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let ada = world.user("ada@example.com").await;
        let token = token(&acme, &ada.id);
        let mut writing = world.store.write().await.unwrap();
        writing.token_add(&token, "hash").await.unwrap();
        writing.token_record_use(&token.id, at(5)).await.unwrap();
        assert!(!writing.token_revoke(&other, &token.id, at(6)).await.unwrap());
        assert!(writing.token_revoke(&acme, &token.id, at(7)).await.unwrap());
        assert!(!writing.token_revoke(&acme, &token.id, at(8)).await.unwrap());
        let found = writing.token_by_hash("hash").await.unwrap().unwrap();
        assert_eq!((found.last_used_at, found.revoked_at), (Some(at(5)), Some(at(7))));
    });
}
