//! Many writers at the same time.

use windlass_core::id::{AccountId, HolderId, RepositoryId, RunId};
use windlass_core::run::RunStatus;
use windlass_store::{EventFilter, EventOrder, LogVerification, Store};

use crate::world::{at, entry, event, node, node_key, on_both, on_postgres, plenty};

#[test]
fn event_numbers_have_no_gaps_and_follow_the_order_of_commits_with_many_writers() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let (store, account) = (world.store.clone(), acme.clone());
        // A subscriber that reads the events after the last number it received must never miss one.
        let subscriber = tokio::spawn(async move {
            let mut seen = Vec::new();
            while seen.len() < 80 {
                let mut reading = store.read().await.unwrap();
                let order = EventOrder::OldestAfter(seen.last().copied().unwrap_or(0));
                let events = reading.events(&account, &EventFilter::default(), order, 100).await.unwrap();
                seen.extend(events.into_iter().map(|event| event.seq));
            }
            seen
        });
        let tasks: Vec<_> = (0..40)
            .map(|number| {
                let (store, account) = (world.store.clone(), acme.clone());
                tokio::spawn(async move {
                    let mut writing = store.write_account(&account).await.unwrap();
                    let name = format!("edge-{number}");
                    writing.resource_put(&node_key(&name), &node("eu"), None, "ada", at(1)).await.unwrap();
                    writing.event(event(&name));
                    writing.event(event("again"));
                    writing.audit(entry(&name));
                    writing.commit().await.unwrap()
                })
            })
            .collect();
        let mut last = Vec::new();
        for task in tasks {
            last.push(task.await.unwrap());
        }
        last.sort_unstable();
        assert_eq!(last, (1..=40).map(|number| number * 2).collect::<Vec<_>>());
        assert_eq!(subscriber.await.unwrap(), (1..=80).collect::<Vec<_>>());
        let mut reading = world.store.read().await.unwrap();
        let verified = reading.audit_verify(&acme).await.unwrap();
        assert!(matches!(verified, LogVerification::Intact { entries: 40, .. }), "{verified:?}");
    });
}

#[test]
fn accounts_and_unscoped_writers_mix_without_deadlock() {
    on_both(|world| async move {
        let accounts = [world.account("acme").await, world.account("other").await];
        let mut repositories = Vec::new();
        for account in &accounts {
            repositories.push(world.repository(account, "fleet").await.id);
        }
        let tasks: Vec<_> = (0..60)
            .map(|number| {
                let (store, accounts, repositories) =
                    (world.store.clone(), accounts.clone(), repositories.clone());
                tokio::spawn(async move {
                    let (one, other) = (number % 2, (number + 1) % 2);
                    match number % 4 {
                        0 | 1 => write_account(&store, &accounts[one], &repositories[one]).await,
                        2 => write_unscoped(&store, &repositories[other]).await,
                        _ => take_and_return(&store, &repositories[one]).await,
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        let mut reading = world.store.read().await.unwrap();
        let mut last = 0;
        for account in &accounts {
            last += reading.last_event(account).await.unwrap();
        }
        assert_eq!(last, 30);
    });
}

async fn write_account(store: &Store, account_id: &AccountId, repository_id: &RepositoryId) {
    let mut writing = store.write_account(account_id).await.unwrap();
    writing.repository_schedule(repository_id, at(5)).await.unwrap();
    let lease = lease_of(repository_id.as_str());
    let _ = writing.lease_check(&lease).await;
    writing.resource_put(&node_key("edge"), &node("eu"), Some(repository_id), "ada", at(1)).await.unwrap();
    writing.event(event("written"));
    writing.commit().await.unwrap();
}

async fn write_unscoped(store: &Store, repository_id: &RepositoryId) {
    let mut writing = store.write().await.unwrap();
    writing.failure_add("ada", None, at(1)).await.unwrap();
    writing
        .repository_record_run(repository_id, &RunId::new("run"), RunStatus::Success, None, at(2))
        .await
        .unwrap();
    writing.setting_put("last", "x").await.unwrap();
    writing.events_delete_old(at(0), at(0), &mut plenty()).await.unwrap();
    writing.commit().await.unwrap();
}

async fn take_and_return(store: &Store, repository_id: &RepositoryId) {
    let length = std::time::Duration::from_secs(30);
    if let Some(lease) =
        store.lease_take(repository_id.as_str(), &HolderId::new("holder"), at(0), length).await.unwrap()
    {
        store.lease_renew(&lease, at(1), length).await.unwrap();
        store.lease_release(&lease).await.unwrap();
    }
}

fn lease_of(name: &str) -> windlass_store::Lease {
    windlass_store::Lease { name: name.to_owned(), holder: HolderId::new("holder"), epoch: 1 }
}

#[test]
fn transactions_of_different_accounts_do_not_wait_for_each_other_on_postgresql() {
    on_postgres(|world| async move {
        let (acme, other) = (world.account("acme").await, world.account("other").await);
        let mut held = world.store.write_account(&acme).await.unwrap();
        world.events(&other, &["not waiting"]).await;
        held.event(event("late"));
        held.commit().await.unwrap();
    });
}

#[test]
fn replicas_that_start_at_once_agree_on_the_schema() {
    on_postgres(|world| async move {
        world.tamper("DROP SCHEMA public CASCADE").await;
        world.tamper("CREATE SCHEMA public").await;
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let address = world.address.clone();
                tokio::spawn(async move { Store::open(&address).await.unwrap() })
            })
            .collect();
        for task in tasks {
            let store = task.await.unwrap();
            assert_eq!(store.read().await.unwrap().accounts().await.unwrap(), []);
            store.close().await;
        }
    });
}
