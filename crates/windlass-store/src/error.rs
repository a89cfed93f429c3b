//! Errors of the database, one variant for each reaction they need.

use windlass_core::id::AccountId;

use crate::migration_error::MigrationError;

/// Why an operation of the database failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk under the database is full.
    #[error("the disk is full: nothing was saved; free some space, Windlass then continues automatically")]
    DiskFull(#[source] sqlx::Error),
    /// The database may not be written.
    #[error("the database cannot be written: {0}; check the permissions of its directory and the mount")]
    ReadOnly(#[source] sqlx::Error),
    /// Another transaction wrote at the same time; a retry helps.
    #[error("the database is busy with another write")]
    Busy(#[source] sqlx::Error),
    /// A rule of the schema forbids it, for example a name that is taken.
    #[error("{0}")]
    Taken(#[source] sqlx::Error),
    /// A stored value is not valid.
    #[error("the column {column} holds `{value}`, which is not valid")]
    Broken {
        /// The column.
        column: String,
        /// The beginning of its value.
        value: String,
    },
    /// An earlier statement of the same transaction failed.
    #[error("an earlier step of the transaction failed; nothing was saved")]
    TransactionFailed,
    /// There is no such account.
    #[error("account {id} does not exist")]
    NoAccount {
        /// The id that was requested.
        id: AccountId,
    },
    /// Another replica took over the lease of this work.
    #[error("another replica took over the lease {name}")]
    LeaseLost {
        /// The lease.
        name: String,
    },
    /// A request with the same idempotency key was carried out meanwhile.
    #[error("a request with the same idempotency key was carried out meanwhile")]
    Repeated,
    /// The address of the database is not valid.
    #[error("`{url}` is not a database address: {reason}")]
    Address {
        /// The given address, without its password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The schema of the database is not, or cannot be migrated to, the one this program uses.
    #[error(transparent)]
    Migrate(#[from] MigrationError),
    /// Others on the machine could read the database file.
    #[error("cannot restrict access to {}: {source}", path.display())]
    NotPrivate {
        /// The file.
        path: std::path::PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Copying the database failed.
    #[error("{0}")]
    Backup(String),
    /// Anything else.
    #[error("the database failed: {0}")]
    Database(#[source] sqlx::Error),
}

/// SQLite's primary result codes: <https://sqlite.org/rescode.html>.
mod sqlite_code {
    pub(super) const BUSY: i64 = 5;
    pub(super) const LOCKED: i64 = 6;
    pub(super) const READONLY: i64 = 8;
    pub(super) const FULL: i64 = 13;
    pub(super) const CANTOPEN: i64 = 14;
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> StoreError {
        let Some(database_error) = error.as_database_error() else { return StoreError::Database(error) };
        if database_error.is_unique_violation() || database_error.is_foreign_key_violation() {
            return StoreError::Taken(error);
        }
        let code = database_error.code().map(|code| code.into_owned()).unwrap_or_default();
        // SQLite's extended codes contain the primary code in their low byte; PostgreSQL's codes have five characters.
        match code.parse::<i64>().ok().filter(|_| code.len() != 5).map(|code| code & 0xff) {
            Some(sqlite_code::FULL) => return StoreError::DiskFull(error),
            Some(sqlite_code::READONLY | sqlite_code::CANTOPEN) => return StoreError::ReadOnly(error),
            Some(sqlite_code::BUSY | sqlite_code::LOCKED) => return StoreError::Busy(error),
            _ => {}
        }
        match code.as_str() {
            "53100" => StoreError::DiskFull(error),
            "25006" => StoreError::ReadOnly(error),
            "40001" | "40P01" | "55P03" => StoreError::Busy(error),
            _ => StoreError::Database(error),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

    use windlass_core::id::AccountId;
    use windlass_core::time::Timestamp;

    use super::StoreError;
    use crate::{Address, Store};

    async fn store(directory: &tempfile::TempDir) -> Store {
        Store::open(&Address::Sqlite(directory.path().join("windlass.db"))).await.unwrap()
    }

    #[tokio::test]
    async fn a_full_disk_is_reported_saves_nothing_and_later_writes_succeed() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(&directory).await;
        let now = Timestamp::from_millis(0);
        let mut writing = store.write().await.unwrap();
        writing.setting_put("early", "x").await.unwrap();
        writing.connection.execute("PRAGMA max_page_count = 1", Vec::new()).await.unwrap();
        let rejected = writing.setting_put("large", &"x".repeat(1 << 20)).await;
        assert!(matches!(rejected, Err(StoreError::DiskFull(_))), "{rejected:?}");
        assert!(matches!(writing.setting("early").await, Err(StoreError::TransactionFailed)));
        assert!(matches!(writing.commit().await, Err(StoreError::TransactionFailed)));

        let mut writing = store.write().await.unwrap();
        assert_eq!(writing.setting("early").await.unwrap(), None);
        writing.connection.execute("PRAGMA max_page_count = 1000000", Vec::new()).await.unwrap();
        writing.setting_put("large", &"x".repeat(1 << 20)).await.unwrap();
        writing.account_add(&AccountId::new("id"), "acme", now).await.unwrap();
        writing.commit().await.unwrap();
        let mut reading = store.read().await.unwrap();
        assert!(reading.setting("large").await.unwrap().is_some());
        assert!(store.check().await.unwrap().iter().all(|checked| checked.fault.is_none()));
    }

    #[tokio::test]
    async fn a_database_that_may_not_be_written_is_read_only() {
        let directory = tempfile::tempdir().unwrap();
        let store = store(&directory).await;
        let mut reading = store.read().await.unwrap();
        let rejected = reading.connection.execute("DELETE FROM accounts", Vec::new()).await;
        assert!(matches!(rejected, Err(StoreError::ReadOnly(_))), "{rejected:?}");
        let mut writing = store.write().await.unwrap();
        writing.connection.execute("PRAGMA query_only = ON", Vec::new()).await.unwrap();
        let rejected = writing.setting_put("name", "value").await;
        assert!(matches!(rejected, Err(StoreError::ReadOnly(_))), "{rejected:?}");
    }

    #[tokio::test]
    async fn a_write_during_another_write_is_busy() {
        let directory = tempfile::tempdir().unwrap();
        let (one, other) = (store(&directory).await, store(&directory).await);
        let mut writing = other.write().await.unwrap();
        writing.connection.execute("PRAGMA busy_timeout = 0", Vec::new()).await.unwrap();
        drop(writing);
        let _held = one.write().await.unwrap();
        let rejected = other.write().await.err();
        assert!(matches!(rejected, Some(StoreError::Busy(_))), "{rejected:?}");
    }

    #[tokio::test]
    async fn waiting_for_a_postgresql_lock_times_out() {
        let Some(server) = windlass_testkit::servers::Postgres::shared() else { return };
        let address = Address::parse(&server.fresh_database()).unwrap();
        let store = Store::open(&address).await.unwrap();
        let mut writing = store.write().await.unwrap();
        for (setting, expected) in
            [("SHOW lock_timeout", "15s"), ("SHOW idle_in_transaction_session_timeout", "1min")]
        {
            let rows = writing.connection.rows(setting, Vec::new()).await.unwrap();
            let name = setting.trim_start_matches("SHOW ");
            assert_eq!(rows[0].text(name).unwrap(), expected);
        }
        drop(writing);
        let mut held = store.write().await.unwrap();
        held.connection.execute("UPDATE chains SET event_seq = 0", Vec::new()).await.unwrap();
        let mut late = store.write().await.unwrap();
        late.connection.execute("SET LOCAL lock_timeout = '1ms'", Vec::new()).await.unwrap();
        let rejected = late.connection.execute("UPDATE chains SET event_seq = 0", Vec::new()).await;
        assert!(matches!(rejected, Err(StoreError::Busy(_))), "{rejected:?}");
        drop((held, late));
        store.close().await;
    }

    #[tokio::test]
    async fn every_text_column_of_postgresql_sorts_by_bytes() {
        let Some(server) = windlass_testkit::servers::Postgres::shared() else { return };
        let store = Store::open(&Address::parse(&server.fresh_database()).unwrap()).await.unwrap();
        let sql = "SELECT table_name || '.' || column_name AS place FROM information_schema.columns \
                   WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations' AND data_type = 'text' \
                   AND collation_name IS DISTINCT FROM 'C'";
        let mut reading = store.read().await.unwrap();
        let rows = reading.connection.rows(sql, Vec::new()).await.unwrap();
        let other: Vec<String> = rows.iter().map(|row| row.text("place").unwrap()).collect();
        assert!(other.is_empty(), "{other:?}");
        drop(reading);
        store.close().await;
    }
}
