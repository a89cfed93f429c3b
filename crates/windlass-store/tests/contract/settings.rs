//! Settings, and answers to requests with idempotency keys.

use windlass_core::id::AccountId;
use windlass_store::{Answer, KeyedRequest};

use crate::world::{at, on_both, plenty};

#[test]
fn a_setting_is_put_and_a_default_never_replaces_it() {
    on_both(|world| async move {
        let mut writing = world.store.write().await.unwrap();
        assert_eq!(writing.setting("key").await.unwrap(), None);
        assert_eq!(writing.setting_default("key", "first").await.unwrap(), "first");
        assert_eq!(writing.setting_default("key", "second").await.unwrap(), "first");
        writing.setting_put("key", "third").await.unwrap();
        assert_eq!(writing.setting_default("key", "fourth").await.unwrap(), "third");
        writing.commit().await.unwrap();
        let mut reading = world.store.read().await.unwrap();
        assert_eq!(reading.setting("key").await.unwrap().as_deref(), Some("third"));
    });
}

#[test]
fn a_request_is_recorded_and_answered_once_per_account_and_deleted_later() {
    on_both(|world| async move {
        let answer = Answer { status: 201, body: "{}".to_owned() };
        let other = Answer { status: 200, ..answer.clone() };
        let known =
            |answer: Option<&Answer>| Some(KeyedRequest { digest: "d".to_owned(), answer: answer.cloned() });
        let mut writing = world.store.write().await.unwrap();
        assert!(writing.request_begin(&AccountId::new("acme"), "k", "d", at(10)).await.unwrap());
        assert!(!writing.request_begin(&AccountId::new("acme"), "k", "d", at(11)).await.unwrap());
        assert_eq!(writing.request(&AccountId::new("acme"), "k").await.unwrap(), known(None));
        assert!(
            !writing.request_answer(&AccountId::new("acme"), "k", "another", &answer, at(12)).await.unwrap()
        );
        assert!(writing.request_answer(&AccountId::new("acme"), "k", "d", &answer, at(12)).await.unwrap());
        assert!(!writing.request_answer(&AccountId::new("acme"), "k", "d", &other, at(13)).await.unwrap());
        writing.request_delete(&AccountId::new("acme"), "k").await.unwrap();
        assert_eq!(writing.request(&AccountId::new("acme"), "k").await.unwrap(), known(Some(&answer)));
        // A request that changed nothing gets an answer without having been recorded first.
        assert!(writing.request_answer(&AccountId::new("zeta"), "k", "d", &other, at(20)).await.unwrap());
        assert_eq!(writing.request(&AccountId::new("zeta"), "k").await.unwrap(), known(Some(&other)));
        assert!(writing.request_begin(&AccountId::new("zeta"), "l", "d", at(20)).await.unwrap());
        writing.request_delete(&AccountId::new("zeta"), "l").await.unwrap();
        assert_eq!(writing.request(&AccountId::new("zeta"), "l").await.unwrap(), None);
        assert_eq!(writing.answers_delete_old(at(20), &mut plenty()).await.unwrap(), 1);
        assert_eq!(writing.request(&AccountId::new("acme"), "k").await.unwrap(), None);
    });
}
