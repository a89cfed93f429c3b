//! Why an audit log could not be archived or an archive not be read, and what to do about it.

use std::path::PathBuf;

use windlass_store::StoreError;

use crate::keys::error::KeyError;

/// Why archiving, or reading an archive, failed. In every case, no entry was deleted that is not in a verified file.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file cannot be read or written.
    #[error("cannot use {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file exists and is not an archive of the next entries of this log.
    #[error("{} already exists and is another archive", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file is not an archive, or was changed.
    #[error("{}, line {line}: {reason}", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// The line in it.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// There is no such account.
    #[error("account {name} does not exist")]
    NoAccount {
        /// The name that was requested.
        name: String,
    },
    /// There is more than one account, or none, and none was named.
    #[error("there are several accounts and none was chosen")]
    WhichAccount,
    /// No checkpoint is within the limit.
    #[error("nothing to archive: no signed checkpoint after entry {after} and within the limit")]
    NoCheckpoint {
        /// The last entry that is archived.
        after: i64,
    },
    /// The log in the database was modified.
    #[error("the audit log was modified: {reason}")]
    BrokenLog {
        /// What is wrong with it.
        reason: String,
    },
    /// The secret key cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The database cannot be used.
    #[error("cannot use the database: {0}")]
    Store(#[from] StoreError),
}

impl ArchiveError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ArchiveError::File { .. } => "check its directory; no entry was deleted",
            ArchiveError::Exists { .. } => "choose another file with --out",
            ArchiveError::Damaged { .. } => "use an unchanged copy; no entry was deleted",
            ArchiveError::NoAccount { .. } | ArchiveError::WhichAccount => {
                "choose an account with --in-account, or the installation's log with --installation"
            }
            ArchiveError::NoCheckpoint { .. } => {
                "choose a later limit, or sign the log with `windlass audit checkpoint` while the server runs"
            }
            ArchiveError::BrokenLog { .. } => "see the runbook: someone may have tampered with the database",
            ArchiveError::Key(error) => error.help(),
            ArchiveError::Store(_) => "check --data-dir and --database",
        }
    }
}
