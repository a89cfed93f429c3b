//! Opening a database, and the connections to it: for reading, and for writing in one transaction.

use std::path::{Path, PathBuf};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use windlass_core::id::ReplicaId;

use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{Connection as _, SqliteConnection};

use crate::connection::{AnyConnection, Link};
use crate::error::StoreError;
use crate::migration_error::MigrationError;
use crate::migrations::{postgres_migrator, sqlite_migrator};
use crate::page::new_id;

/// How long to wait for a connection or a lock: longer than any transaction of Windlass.
pub(crate) const DATABASE_TIMEOUT: Duration = Duration::from_secs(15);

/// Connections for reading. More are not faster on two cores.
const READ_CONNECTIONS: u32 = 4;

/// Connections to PostgreSQL, for reading and writing: PostgreSQL orders writers itself.
const POSTGRES_CONNECTIONS: u32 = 10;

/// Settings of every connection to PostgreSQL: waiting for a lock ends after the same time as in SQLite, and PostgreSQL
/// releases the locks of a replica that lost power in the middle of a transaction.
const POSTGRES_SESSION: &str = "SET lock_timeout = '15s'; SET idle_in_transaction_session_timeout = '60s'";

/// SQLite's page cache for each connection, in KiB (negative means KiB). It is small because the system caches the file
/// too.
const SQLITE_CACHE: &str = "-4096";

/// Where the database is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A file.
    Sqlite(PathBuf),
    /// A server; the text may contain a password and is never shown.
    Postgres(windlass_core::redacted::Redacted<String>),
}

impl Address {
    /// Reads `postgres://…`, `sqlite:PATH` or a path.
    pub fn parse(text: &str) -> Result<Address, StoreError> {
        match text.split_once(':') {
            Some(("postgres" | "postgresql", _)) => {
                Ok(Address::Postgres(windlass_core::redacted::Redacted::new(text.to_owned())))
            }
            Some(("sqlite", path)) => Ok(Address::Sqlite(PathBuf::from(path.trim_start_matches("//")))),
            Some((scheme, rest)) if rest.starts_with("//") => Err(StoreError::Address {
                url: format!("{scheme}://…"),
                reason: "it is neither postgres:// nor sqlite:".to_owned(),
            }),
            _ => Ok(Address::Sqlite(PathBuf::from(text))),
        }
    }

    /// The kind of database, for people.
    pub fn kind(&self) -> &'static str {
        match self {
            Address::Sqlite(_) => "SQLite",
            Address::Postgres(_) => "PostgreSQL",
        }
    }
}

/// The database.
#[derive(Clone, Debug)]
pub struct Store {
    pools: Pools,
    replica_id: Arc<ReplicaId>,
}

#[derive(Clone, Debug)]
enum Pools {
    Sqlite { path: PathBuf, writer: SqlitePool, readers: SqlitePool },
    Postgres(PgPool),
}

/// A connection for reading. Each statement sees what was committed before it.
pub struct Reading {
    pub(crate) connection: AnyConnection,
}

impl Store {
    /// Opens the database, creates it if it is a file that does not exist, and applies pending migrations.
    pub async fn open(address: &Address) -> Result<Store, StoreError> {
        let store = Store::open_unmigrated(address).await?;
        store.migrate().await?;
        Ok(store)
    }

    /// Opens the database without applying migrations: only to copy it.
    pub async fn open_unmigrated(address: &Address) -> Result<Store, StoreError> {
        let pools = match address {
            Address::Sqlite(path) => open_sqlite(path).await?,
            Address::Postgres(url) => open_postgres(url.expose()).await?,
        };
        Ok(Store { pools, replica_id: Arc::new(new_id()) })
    }

    async fn migrate(&self) -> Result<(), StoreError> {
        match &self.pools {
            Pools::Sqlite { writer, .. } => sqlite_migrator().run(writer).await,
            Pools::Postgres(pool) => postgres_migrator().run(pool).await,
        }
        .map_err(|error| MigrationError::from(error).into())
    }

    /// A connection for reading.
    pub async fn read(&self) -> Result<Reading, StoreError> {
        let link = match &self.pools {
            Pools::Sqlite { readers, .. } => Link::Sqlite(readers.acquire().await?),
            Pools::Postgres(pool) => Link::Postgres(pool.acquire().await?),
        };
        Ok(Reading { connection: AnyConnection::new(link) })
    }

    /// A connection for reading that sees everything as it was at its first statement: for several reads that must be
    /// consistent.
    pub async fn read_snapshot(&self) -> Result<Reading, StoreError> {
        let link = match &self.pools {
            Pools::Sqlite { readers, .. } => Link::SqliteWriting(readers.begin().await?),
            Pools::Postgres(pool) => {
                let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
                Link::PostgresWriting(pool.begin_with(begin).await?)
            }
        };
        Ok(Reading { connection: AnyConnection::new(link) })
    }

    /// A connection in a transaction that may write. It is rolled back if it is dropped without a commit.
    pub(crate) async fn begin(&self) -> Result<AnyConnection, StoreError> {
        Ok(AnyConnection::new(match &self.pools {
            // Immediate: a transaction that reads first and writes later would otherwise fail instead of waiting.
            Pools::Sqlite { writer, .. } => Link::SqliteWriting(writer.begin_with("BEGIN IMMEDIATE").await?),
            Pools::Postgres(pool) => Link::PostgresWriting(pool.begin().await?),
        }))
    }

    /// The id of this process among those that use the same database.
    pub fn replica_id(&self) -> &ReplicaId {
        &self.replica_id
    }

    /// The connections to PostgreSQL, if the database is one. Other processes may use it too.
    pub(crate) fn shared(&self) -> Option<&PgPool> {
        match &self.pools {
            Pools::Sqlite { .. } => None,
            Pools::Postgres(pool) => Some(pool),
        }
    }

    /// The file, if the database is one.
    pub fn file(&self) -> Option<&Path> {
        match &self.pools {
            Pools::Sqlite { path, .. } => Some(path),
            Pools::Postgres(_) => None,
        }
    }

    /// Copies the file, if the database is one, into a file that is empty or does not exist.
    pub(crate) async fn copy_file(&self, to: &str) -> Result<(), StoreError> {
        let Pools::Sqlite { path, .. } = &self.pools else { return Ok(()) };
        // A new connection: those for reading may not write, not even another file.
        let options = sqlite_options(path).create_if_missing(false);
        let mut connection = SqliteConnection::connect_with(&options).await?;
        sqlx::query("VACUUM INTO $1").bind(to).execute(&mut connection).await?;
        connection.close().await?;
        Ok(())
    }

    /// Deletes a setting so that no copy of its value remains in the files of the database. Backups keep their copies.
    pub async fn erase_setting(&self, name: &str) -> Result<(), StoreError> {
        const DELETE: &str = "DELETE FROM settings WHERE name = $1";
        match &self.pools {
            Pools::Sqlite { writer, .. } => {
                let mut connection = writer.acquire().await?;
                sqlx::query("PRAGMA secure_delete = ON").execute(&mut *connection).await?;
                sqlx::query(DELETE).bind(name).execute(&mut *connection).await?;
                // Free pages may contain old copies, and the journal the old pages.
                sqlx::query("VACUUM").execute(&mut *connection).await?;
                sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").execute(&mut *connection).await?;
            }
            Pools::Postgres(pool) => {
                sqlx::query(DELETE).bind(name).execute(pool).await?;
                sqlx::query("VACUUM FULL settings").execute(pool).await?;
            }
        }
        Ok(())
    }

    /// Closes every connection after the running statements.
    pub async fn close(&self) {
        match &self.pools {
            Pools::Sqlite { writer, readers, .. } => {
                readers.close().await;
                writer.close().await;
            }
            Pools::Postgres(pool) => pool.close().await,
        }
    }
}

/// Restricts the database and its journals to their owner, whatever the umask is and whoever created the file. SQLite
/// gives journals the permissions of the database file.
fn keep_private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
    if !path.exists() {
        let created = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        match created {
            Ok(_) => {}
            // Another process created it at the same time.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            // The directory does not exist; SQLite's error message is clearer.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let file = PathBuf::from(name);
        let Ok(metadata) = std::fs::metadata(&file) else { continue };
        if metadata.permissions().mode() & 0o077 != 0 {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600))?;
        }
    }
    Ok(())
}

/// The journal of a database file. It exists while the database is in use, and after a crash.
pub(crate) fn journal_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

fn sqlite_options(path: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        // Committed data survives a power cut. Writers with many changes put them into one transaction.
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(DATABASE_TIMEOUT)
        .pragma("cache_size", SQLITE_CACHE)
        .pragma("journal_size_limit", "67108864")
        .optimize_on_close(true, None)
}

async fn open_sqlite(path: &Path) -> Result<Pools, StoreError> {
    keep_private(path).map_err(|source| StoreError::NotPrivate { path: path.to_path_buf(), source })?;
    let options = sqlite_options(path);
    let writer = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(DATABASE_TIMEOUT)
        // When the disk is full, SQLite ends a transaction, but sqlx still treats it as open. Such a connection cannot
        // begin another transaction, so the pool replaces it.
        .after_release(|connection, _| {
            Box::pin(async move {
                connection.ping().await?;
                Ok(!connection.is_in_transaction())
            })
        })
        .connect_with(options.clone())
        .await?;
    let readers = SqlitePoolOptions::new()
        .max_connections(READ_CONNECTIONS)
        .acquire_timeout(DATABASE_TIMEOUT)
        .connect_lazy_with(options.create_if_missing(false).pragma("query_only", "ON"));
    Ok(Pools::Sqlite { path: path.to_path_buf(), writer, readers })
}

/// How to connect to a server.
pub(crate) fn postgres_options(url: &str) -> Result<PgConnectOptions, StoreError> {
    let address = |error: sqlx::Error| StoreError::Address {
        url: "postgres://…".to_owned(),
        reason: error.to_string(),
    };
    Ok(PgConnectOptions::from_str(url).map_err(address)?.application_name("windlass"))
}

async fn open_postgres(url: &str) -> Result<Pools, StoreError> {
    let options = postgres_options(url)?;
    let pool = PgPoolOptions::new()
        .max_connections(POSTGRES_CONNECTIONS)
        .acquire_timeout(DATABASE_TIMEOUT)
        .after_connect(|connection, _| {
            Box::pin(async move { sqlx::raw_sql(POSTGRES_SESSION).execute(connection).await.map(drop) })
        })
        .connect_with(options)
        .await?;
    Ok(Pools::Postgres(pool))
}
