//! The state of a database's schema: which migrations are applied and which are pending. Only reads.

use std::path::Path;

use sqlx::migrate::{AppliedMigration, Migrate, Migrator};
use sqlx::postgres::PgConnection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{Connection as _, Row as _};

use crate::db::{Address, DATABASE_TIMEOUT, Store, journal_of, postgres_options};
use crate::error::StoreError;
use crate::migration_error::MigrationError;
use crate::migrations::{last_known, postgres_migrator, sqlite_migrator};

/// The table in which sqlx stores which migrations were applied.
const TABLE: &str = "_sqlx_migrations";

/// A migration that is not applied yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingMigration {
    /// Its number.
    pub number: i64,
    /// Its name.
    pub name: String,
}

/// Which migrations a database has. Their checksums equal those of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaState {
    /// How many are applied.
    pub applied: usize,
    /// Those that are not, in order.
    pub pending: Vec<PendingMigration>,
}

impl Store {
    /// Reads which migrations a database has, and changes nothing: it creates neither a file nor a table. Fails if the
    /// database has migrations that differ from those of this program.
    pub async fn schema_state(address: &Address) -> Result<SchemaState, StoreError> {
        let (applied, migrator) = match address {
            Address::Sqlite(path) => (applied_in_sqlite(path).await?, sqlite_migrator()),
            Address::Postgres(url) => (applied_in_postgres(url.expose()).await?, postgres_migrator()),
        };
        Ok(compare(&applied, &migrator)?)
    }
}

async fn applied_in_sqlite(path: &Path) -> Result<Vec<AppliedMigration>, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        // While the database is in use there is a journal, which must be read too. Otherwise SQLite would create one.
        .immutable(!journal_of(path).exists())
        .busy_timeout(DATABASE_TIMEOUT);
    let mut connection = SqliteConnection::connect_with(&options).await?;
    let sql = "SELECT COUNT(*) AS count FROM sqlite_master WHERE type = 'table' AND name = $1";
    let tables: i64 = sqlx::query(sql).bind(TABLE).fetch_one(&mut connection).await?.try_get(0)?;
    let applied = if tables == 0 { Vec::new() } else { applied_in(&mut connection).await? };
    connection.close().await?;
    Ok(applied)
}

async fn applied_in_postgres(url: &str) -> Result<Vec<AppliedMigration>, StoreError> {
    let options = postgres_options(url)?.options([("default_transaction_read_only", "on")]);
    let mut connection = PgConnection::connect_with(&options).await?;
    let sql = "SELECT to_regclass($1) IS NOT NULL";
    let is_there: bool = sqlx::query(sql).bind(TABLE).fetch_one(&mut connection).await?.try_get(0)?;
    let applied = if is_there { applied_in(&mut connection).await? } else { Vec::new() };
    connection.close().await?;
    Ok(applied)
}

async fn applied_in(connection: &mut impl Migrate) -> Result<Vec<AppliedMigration>, MigrationError> {
    if let Some(number) = connection.dirty_version(TABLE).await? {
        return Err(MigrationError::Partial { number });
    }
    Ok(connection.list_applied_migrations(TABLE).await?)
}

fn compare(applied: &[AppliedMigration], migrator: &Migrator) -> Result<SchemaState, MigrationError> {
    let is_applied = |number: i64| applied.iter().any(|it| it.version == number);
    for found in applied {
        match migrator.iter().find(|known| known.version == found.version) {
            None => return Err(MigrationError::Newer { number: found.version, known: last_known() }),
            Some(known) if known.checksum != found.checksum => {
                return Err(MigrationError::Changed { number: found.version });
            }
            Some(_) => {}
        }
    }
    let pending = migrator
        .iter()
        .filter(|known| !is_applied(known.version))
        .map(|known| PendingMigration { number: known.version, name: known.description.to_string() })
        .collect();
    Ok(SchemaState { applied: applied.len(), pending })
}
