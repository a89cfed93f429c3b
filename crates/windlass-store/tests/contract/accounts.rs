//! Accounts, their policy and their kill switch.

use std::collections::BTreeMap;

use windlass_core::gate::Halt;
use windlass_core::id::{AccountId, RepositoryId};
use windlass_store::{StoreError, new_id};

use crate::world::{at, entry, on_both};

#[test]
fn an_account_is_found_by_id_and_by_name_and_listed_by_name() {
    on_both(|world| async move {
        let (zeta, acme) = (world.account("zeta").await, world.account("Acme").await);
        let mut reading = world.store.read().await.unwrap();
        for key in [acme.as_str(), "Acme"] {
            let found = reading.account(key).await.unwrap().unwrap();
            assert_eq!((&found.id, found.policy.as_str(), found.policy_version), (&acme, "{}", 1));
            assert_eq!((found.halt, found.created_at), (None, at(0)));
        }
        assert_eq!(reading.account("nobody").await.unwrap(), None);
        let names: Vec<String> = reading.accounts().await.unwrap().into_iter().map(|it| it.name).collect();
        assert_eq!(names, ["Acme", "zeta"]);
        // The name of an account may be the id of another: the id takes precedence.
        let trap = world.account(zeta.as_str()).await;
        assert_ne!(reading.account(zeta.as_str()).await.unwrap().unwrap().id, trap);
    });
}

#[test]
fn account_ids_and_names_are_unique_and_the_installation_id_is_taken() {
    on_both(|world| async move {
        world.account("acme").await;
        for (id, name) in [(new_id(), "acme"), (AccountId::installation(), "other")] {
            let mut writing = world.store.write().await.unwrap();
            let refused = writing.account_add(&id, name, at(0)).await;
            assert!(matches!(refused, Err(StoreError::Taken(_))), "{name}: {refused:?}");
        }
        assert_eq!(world.store.read().await.unwrap().accounts().await.unwrap().len(), 1);
    });
}

#[test]
fn an_account_and_its_first_audit_entry_are_created_together_or_not_at_all() {
    on_both(|world| async move {
        let id = new_id();
        for commits in [false, true] {
            let mut writing = world.store.write().await.unwrap();
            writing.account_add(&id, "acme", at(0)).await.unwrap();
            let mut writing = world.store.continue_in_account(writing, &id).await.unwrap();
            writing.audit(entry("account.create"));
            match commits {
                true => drop(writing.commit().await.unwrap()),
                false => drop(writing),
            }
            let mut reading = world.store.read().await.unwrap();
            assert_eq!(reading.account("acme").await.unwrap().is_some(), commits);
            let entries = reading.audit(&id, None, i64::MAX, 5).await.unwrap();
            assert_eq!(entries.len(), usize::from(commits));
        }
    });
}

#[test]
fn the_kill_switch_is_turned_on_and_off() {
    on_both(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let halt = Halt { since: at(3), by: "ada".to_owned(), reason: "fire".to_owned() };
        for expected in [Some(halt), None] {
            let mut writing = world.store.write_account(&acme).await.unwrap();
            writing.account_halt(expected.as_ref()).await.unwrap();
            writing.commit().await.unwrap();
            let mut reading = world.store.read().await.unwrap();
            assert_eq!(reading.account(acme.as_str()).await.unwrap().unwrap().halt, expected);
            assert_eq!(reading.account(other.as_str()).await.unwrap().unwrap().halt, None);
        }
    });
}

#[test]
fn a_policy_is_replaced_only_with_its_current_version() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let mut writing = world.store.write_account(&acme).await.unwrap();
        let names = BTreeMap::from([("fleet".to_owned(), RepositoryId::new("id"))]);
        assert!(!writing.account_bind_policy(&names).await.unwrap(), "a new account names none");
        assert!(writing.account_set_policy("{\"rules\":[]}", &names, 1).await.unwrap());
        assert!(!writing.account_set_policy("{}", &names, 1).await.unwrap());
        let account_id = writing.account_id().clone();
        let stored = writing.account(account_id.as_str()).await.unwrap().unwrap();
        assert_eq!(stored.policy_repositories, Some(names));
        writing.commit().await.unwrap();
        let account = world.store.read().await.unwrap().account("acme").await.unwrap().unwrap();
        assert_eq!((account.policy.as_str(), account.policy_version), ("{\"rules\":[]}", 2));
    });
}
