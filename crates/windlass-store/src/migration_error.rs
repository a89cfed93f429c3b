//! Errors about the schema of a database: it is not, or cannot be migrated to, the one this version of Windlass uses.

use sqlx::migrate::MigrateError;

use crate::migrations::last_known;

/// Why the schema of a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MigrationError {
    /// A newer version migrated the database.
    #[error(
        "the database has migration {number}, and this version of Windlass knows {known}: a newer version upgraded it"
    )]
    Newer {
        /// A migration that this version does not have.
        number: i64,
        /// The last migration of this version.
        known: i64,
    },
    /// A migration differs from the one that was applied.
    #[error(
        "migration {number} of this program is not the one that was applied to the database: their checksums differ"
    )]
    Changed {
        /// Which.
        number: i64,
    },
    /// A migration was applied only in part.
    #[error("migration {number} was applied to the database only in part")]
    Partial {
        /// Which.
        number: i64,
    },
    /// Reading or applying migrations failed.
    #[error("the migration failed: {0}")]
    Failed(#[source] MigrateError),
}

impl MigrationError {
    /// How to fix it.
    pub fn help(&self) -> &'static str {
        match self {
            MigrationError::Newer { .. } => {
                "start the newer version, or restore a backup that was made before the upgrade"
            }
            MigrationError::Changed { .. } => {
                "use a released version of Windlass; if this is one, restore a backup: someone changed the database"
            }
            MigrationError::Partial { .. } => "restore a backup that was made before the upgrade",
            MigrationError::Failed(_) => {
                "nothing of the migration that failed was applied; remove the cause and try again"
            }
        }
    }
}

impl From<MigrateError> for MigrationError {
    fn from(error: MigrateError) -> MigrationError {
        match error {
            MigrateError::VersionMissing(number) => MigrationError::Newer { number, known: last_known() },
            MigrateError::VersionMismatch(number) => MigrationError::Changed { number },
            MigrateError::Dirty(number) => MigrationError::Partial { number },
            error => MigrationError::Failed(error),
        }
    }
}
