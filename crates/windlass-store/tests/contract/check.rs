//! Backups while the database is in use, and consistency checks.

use windlass_core::id::AccountId;
use windlass_core::proposal::Status;
use windlass_store::{Address, NewDesiredResource, OwnerFilter, ResourceFilter, Store, StoreError};

use crate::proposals::moved;
use crate::world::{World, at, entry, event, node, node_key, on_both, on_postgres, on_sqlite};

async fn faults(store: &Store) -> Vec<String> {
    let checked = store.check().await.unwrap();
    checked.into_iter().filter_map(|it| it.fault.map(|fault| format!("{}: {fault}", it.what))).collect()
}

fn unowned() -> ResourceFilter {
    ResourceFilter { owner: Some(OwnerFilter::Nobody), ..ResourceFilter::default() }
}

/// Adds rows for every check.
async fn fill(world: &World) -> AccountId {
    let acme = world.account("acme").await;
    let fleet = world.repository(&acme, "fleet").await;
    let run = world.run(&fleet).await;
    let proposals = world.proposals(&run, &["a", "b"]).await;
    world.node(&acme, "edge", Some(&fleet.id)).await;
    world.audited(&acme, &["a", "b", "c"]).await;
    world.audited(&AccountId::installation(), &["installed"]).await;
    let spec = node("eu");
    let key = node_key("edge");
    let wanted =
        NewDesiredResource { name: &key.name, kind: key.kind, digest: spec.digest(), spec: &spec, file: "f" };
    let mut writing = world.store.write().await.unwrap();
    writing.desired_replace(&fleet.id, &[wanted]).await.unwrap();
    let rejected = moved(Status::PendingApproval, Status::Rejected);
    assert!(writing.proposal_move(&proposals[1].id, &rejected).await.unwrap());
    writing.commit().await.unwrap();
    acme
}

#[test]
fn every_fault_is_reported_by_its_check() {
    let cases = [
        ("UPDATE resources SET owner_id = 'gone'", "every owned resource belongs to a registered repository"),
        (
            "UPDATE proposals SET repository_id = 'gone'",
            "every open proposal is a direct change or belongs to a registered repository",
        ),
        ("DELETE FROM run_proposals", "every open proposal is a direct change or belongs to a run"),
        ("DELETE FROM chains WHERE account_id <> ''", "every account has its chain"),
        ("UPDATE contents SET body = '{'", "every resource can be read: node edge cannot be read"),
        ("UPDATE resources SET kind = 'gnome'", "every resource can be read: gnome edge cannot be read"),
        (
            "UPDATE contents SET body = '{\"template\":\"other\"}'",
            "every resource can be read: node edge is not what its digest says",
        ),
        ("DELETE FROM contents", "every resource can be read: node edge cannot be read"),
        ("UPDATE proposals SET edited_digest = 'x'", "what every proposal changes is stored"),
        ("DELETE FROM resource_references", "what refers to what is noted as the resources say"),
        ("UPDATE desired SET digest = 'x'", "everything git wants: node edge cannot be read"),
        ("UPDATE audit SET target = 'x' WHERE seq = 2", "the audit log of account acme is intact: entry 2"),
        ("DELETE FROM audit WHERE account_id = ''", "the audit log of the installation is intact: entry 1"),
    ];
    for (tampering, expected) in cases {
        on_both(|world| async move {
            fill(&world).await;
            assert_eq!(faults(&world.store).await, Vec::<String>::new());
            assert!(world.tamper(tampering).await > 0, "{tampering}");
            let found = faults(&world.store).await;
            let (what, fault) = expected.split_once(": ").unwrap_or((expected, ""));
            let is_reported =
                found.iter().any(|message| message.starts_with(what) && message.contains(fault));
            assert!(is_reported, "{tampering}: {found:?}");
        });
    }
}

#[test]
fn dangling_references_are_found_in_sqlite() {
    on_sqlite(|world| async move {
        fill(&world).await;
        world.tamper("DELETE FROM repositories").await;
        let found = faults(&world.store).await;
        assert!(found.iter().any(|message| message.contains("desired")), "{found:?}");
    });
}

#[test]
fn a_damaged_file_is_found() {
    on_sqlite(|world| async move {
        fill(&world).await;
        let Address::Sqlite(path) = &world.address else { return };
        world.store.close().await;
        world.tamper("PRAGMA wal_checkpoint(TRUNCATE)").await;
        let copy = world.directory.path().join("damaged.db");
        let mut bytes = std::fs::read(path).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 8_192].fill(0xa5);
        std::fs::write(&copy, bytes).unwrap();
        match Store::open(&Address::Sqlite(copy)).await {
            Ok(store) => match store.check().await {
                Ok(checked) => assert!(checked.iter().any(|it| it.fault.is_some()), "{checked:?}"),
                Err(error) => assert!(matches!(error, StoreError::Database(_)), "{error:?}"),
            },
            Err(error) => {
                assert!(matches!(error, StoreError::Database(_) | StoreError::Migrate(_)), "{error:?}");
            }
        }
    });
}

#[test]
fn a_backup_during_writes_is_consistent() {
    on_sqlite(|world| async move {
        let acme = fill(&world).await;
        let (store, account) = (world.store.clone(), acme.clone());
        let writer = tokio::spawn(async move {
            for number in 0..100 {
                let mut writing = store.write_account(&account).await.unwrap();
                let name = format!("edge-{number}");
                writing.resource_put(&node_key(&name), &node("eu"), None, "ada", at(1)).await.unwrap();
                writing.event(event(&name));
                writing.audit(entry(&name));
                writing.commit().await.unwrap();
            }
        });
        for number in 0..4 {
            let copy = world.directory.path().join(format!("copy-{number}.db"));
            world.store.backup(&copy).await.unwrap();
            let copied = Store::open(&Address::Sqlite(copy.clone())).await.unwrap();
            assert_eq!(faults(&copied).await, Vec::<String>::new());
            let mut reading = copied.read().await.unwrap();
            let events = reading.last_event(&acme).await.unwrap();
            let accepted = reading.resources_page(&acme, &unowned(), None, 1000).await.unwrap().len();
            assert_eq!(usize::try_from(events).unwrap(), accepted, "events and changes of one moment");
            drop(reading);
            copied.close().await;
            let again = world.store.backup(&copy).await;
            assert!(matches!(again, Err(StoreError::Backup(_))), "{again:?}");
        }
        writer.await.unwrap();
    });
}

#[test]
fn only_the_owner_can_read_a_backup_and_a_failed_one_leaves_no_file() {
    use std::os::unix::fs::PermissionsExt as _;
    on_sqlite(|world| async move {
        let copy = world.directory.path().join("it's a \"copy\".db");
        world.store.backup(&copy).await.unwrap();
        assert_eq!(std::fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        let nowhere = world.store.backup(&world.directory.path().join("no/such/directory.db")).await;
        assert!(matches!(nowhere, Err(StoreError::Backup(_))), "{nowhere:?}");
        let names = std::fs::read_dir(world.directory.path()).unwrap();
        let left = names.filter(|entry| entry.as_ref().unwrap().path().to_string_lossy().contains("partial"));
        assert_eq!(left.count(), 0);
    });
}

#[test]
fn a_postgresql_database_is_backed_up_with_pg_dump() {
    on_postgres(|world| async move {
        let refused = world.store.backup(&world.directory.path().join("copy.db")).await;
        assert!(matches!(refused, Err(StoreError::Backup(message)) if message.contains("pg_dump")));
        assert_eq!(world.store.file(), None);
    });
}
