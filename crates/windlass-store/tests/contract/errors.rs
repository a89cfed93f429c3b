//! Errors of the database, one variant for each reaction they need.

use windlass_core::access::Role;
use windlass_core::id::AccountId;
use windlass_store::{Address, MigrationError, Store, StoreError};

use crate::world::{at, on_both, on_postgres, on_sqlite, repository};

#[test]
fn violations_of_schema_constraints_are_reported_as_taken() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        world.repository(&acme, "fleet").await;
        for stranger in [repository(&acme, "fleet"), repository(&AccountId::new("nobody"), "fleet")] {
            let mut writing = world.store.write().await.unwrap();
            let refused = writing.repository_add(&stranger).await;
            assert!(matches!(refused, Err(StoreError::Taken(_))), "{refused:?}");
        }
    });
}

#[test]
fn a_read_only_postgresql_database_is_reported_as_read_only() {
    on_postgres(|world| async move {
        let database = world.ask("SELECT current_database() AS answer").await.remove(0);
        world.tamper(&format!("ALTER DATABASE {database} SET default_transaction_read_only = on")).await;
        world.store.close().await;
        // The schema is up to date, but even the check for pending migrations needs a lock, which may be rejected:
        // either error is correct.
        match Store::open(&world.address).await {
            Ok(store) => {
                let mut writing = store.write().await.unwrap();
                let refused = writing.account_add(&AccountId::new("id"), "acme", at(0)).await;
                assert!(matches!(refused, Err(StoreError::ReadOnly(_))), "{refused:?}");
            }
            Err(error) => {
                assert!(matches!(error, StoreError::Migrate(_) | StoreError::ReadOnly(_)), "{error:?}");
            }
        }
    });
}

#[test]
fn a_missing_directory_is_reported_as_read_only() {
    on_sqlite(|world| async move {
        let refused = Store::open(&Address::Sqlite(world.directory.path().join("no/windlass.db"))).await;
        assert!(matches!(refused, Err(StoreError::ReadOnly(_))), "{refused:?}");
    });
}

#[test]
fn an_invalid_stored_value_is_reported_with_its_column() {
    on_both(|world| async move {
        let acme = world.account("acme").await;
        let run = world.run(&world.repository(&acme, "fleet").await).await;
        world.tamper("UPDATE sync_runs SET status = 'sideways'").await;
        let found = world.store.read().await.unwrap().run(&acme, &run.id).await;
        match found {
            Err(StoreError::Broken { column, value }) => {
                assert_eq!((column.as_str(), value.as_str()), ("status", "sideways"));
            }
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn an_unknown_stored_word_is_an_error_that_names_it() {
    on_both(|world| async move {
        let (acme, ada) = (world.account("acme").await, world.user("ada@example.com").await);
        let repository = world.repository(&acme, "fleet").await;
        let run = world.run(&repository).await;
        let proposal = world.proposals(&run, &["edge"]).await.remove(0);
        let mut writing = world.store.write().await.unwrap();
        writing.member_set(&acme, &ada.id, Role::Viewer, at(1)).await.unwrap();
        writing.commit().await.unwrap();
        for (table, column, word, before) in [
            ("memberships", "role", "owner", "'viewer'"),
            ("memberships", "origin", "birth", "'hand'"),
            ("repositories", "last_status", "odd", "'pending'"),
            ("sync_runs", "movement", "sideways", "NULL"),
            ("sync_runs", "contributors", r#"[["ghost","eve@example.com"]]"#, "'[]'"),
            ("sync_runs", "contributors_gap", "whatever", "NULL"),
            ("proposals", "blocked_by", r#"[{"kind":"weather"}]"#, "'[]'"),
        ] {
            world.tamper(&format!("UPDATE {table} SET {column} = '{word}'")).await;
            let mut reading = world.store.read().await.unwrap();
            let error = match table {
                "memberships" => reading.member(&acme, ada.id.as_str()).await.unwrap_err(),
                "proposals" => reading.proposal(&acme, &proposal.id).await.unwrap_err(),
                "repositories" => reading.repository(&acme, repository.id.as_str()).await.unwrap_err(),
                _ => reading.run(&acme, &run.id).await.unwrap_err(),
            };
            let StoreError::Broken { column: named, value } = error else { panic!("{error:?}") };
            assert_eq!((named.as_str(), value.as_str()), (column, word));
            world.tamper(&format!("UPDATE {table} SET {column} = {before}")).await;
        }
    });
}

#[test]
fn a_database_of_a_later_version_is_rejected() {
    on_both(|world| async move {
        world.tamper("UPDATE _sqlx_migrations SET version = version + 90").await;
        let refused = Store::open(&world.address).await;
        assert!(matches!(refused, Err(StoreError::Migrate(MigrationError::Newer { .. }))), "{refused:?}");
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("a newer version upgraded it"), "{message}");
        let checked = Store::schema_state(&world.address).await;
        assert!(matches!(checked, Err(StoreError::Migrate(MigrationError::Newer { .. }))), "{checked:?}");
    });
}

#[test]
fn addresses_are_parsed_and_passwords_are_never_shown() {
    for (text, kind) in [
        ("postgres://u:secret@h/d", "PostgreSQL"),
        ("postgresql://h/d", "PostgreSQL"),
        ("sqlite:windlass.db", "SQLite"),
        ("sqlite:///var/lib/windlass.db", "SQLite"),
        ("/var/lib/windlass.db", "SQLite"),
        ("windlass.db", "SQLite"),
    ] {
        let address = Address::parse(text).unwrap();
        assert_eq!(address.kind(), kind, "{text}");
        assert!(!format!("{address:?}").contains("secret"), "{text}");
    }
    let refused = Address::parse("mysql://u:secret@h/d").unwrap_err().to_string();
    assert!(refused.contains("mysql") && !refused.contains("secret"), "{refused}");
    assert_eq!(Address::parse("sqlite:///a/b.db").unwrap(), Address::Sqlite("/a/b.db".into()));
}
