//! What can go wrong with a database, told by what to do about it.

/// Why the database could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The disk under the database is full.
    #[error("the disk is full: nothing was saved; free some space, Windlass goes on by itself")]
    DiskFull(#[source] sqlx::Error),
    /// The database may not be written.
    #[error("the database cannot be written: {0}; check the permissions of its directory and the mount")]
    ReadOnly(#[source] sqlx::Error),
    /// Someone else wrote at the same moment; doing it again helps.
    #[error("another write got in the way")]
    Busy(#[source] sqlx::Error),
    /// A rule of the schema forbids it, for example a name that is taken.
    #[error("{0}")]
    Taken(#[source] sqlx::Error),
    /// A stored value is not what it should be.
    #[error("the column {column} holds `{value}`, which is not valid")]
    Broken {
        /// The column.
        column: String,
        /// The beginning of what it holds.
        value: String,
    },
    /// There is no such account.
    #[error("there is no account {id}")]
    NoAccount {
        /// The id that was asked for.
        id: String,
    },
    /// The lease under which this was done has passed to someone else.
    #[error("the lease {name} has passed to another replica; its work is theirs now")]
    LeaseLost {
        /// The lease.
        name: String,
    },
    /// The address of the database is not understood.
    #[error("`{url}` is not a database address: {reason}")]
    Address {
        /// What was given, without its password.
        url: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The database is of a version this program does not know.
    #[error("the database could not be brought up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// Copying the database failed.
    #[error("{0}")]
    Backup(String),
    /// Anything else.
    #[error("the database failed: {0}")]
    Database(#[source] sqlx::Error),
}

/// SQLite's primary result codes, https://sqlite.org/rescode.html.
mod sqlite_code {
    pub(super) const BUSY: i64 = 5;
    pub(super) const LOCKED: i64 = 6;
    pub(super) const READONLY: i64 = 8;
    pub(super) const FULL: i64 = 13;
    pub(super) const CANTOPEN: i64 = 14;
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> StoreError {
        let Some(told) = error.as_database_error() else { return StoreError::Database(error) };
        if told.is_unique_violation() || told.is_foreign_key_violation() {
            return StoreError::Taken(error);
        }
        let code = told.code().map(|code| code.into_owned()).unwrap_or_default();
        // SQLite's extended codes carry the primary one in their low byte; PostgreSQL's are five characters.
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
