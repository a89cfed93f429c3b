//! What can be wrong with a secret key, and what to do about it.

use std::path::PathBuf;

use windlass_store::StoreError;

/// Why the secret key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("cannot use the secret key in {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file is not a regular file.
    #[error("{} is not a regular file", path.display())]
    NotPlain {
        /// The file.
        path: PathBuf,
    },
    /// Others can read the file.
    #[error("other users can read the secret key in {} (mode {mode:03o})", path.display())]
    Exposed {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The text is not a valid key.
    #[error("{place} contains no valid secret key: {reason}")]
    Unreadable {
        /// Where it was read.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The file does not exist, and the database was used with a key.
    #[error("{} does not exist, and the database uses the secret key {known}", path.display())]
    Missing {
        /// Which file.
        path: PathBuf,
        /// The fingerprint of the key.
        known: String,
    },
    /// The named file does not exist.
    #[error("{} does not exist", path.display())]
    NoFile {
        /// The file.
        path: PathBuf,
    },
    /// The database is used with another key.
    #[error("this server's secret key is {here}, but the database uses the secret key {known}")]
    Foreign {
        /// The fingerprint of this server's key.
        here: String,
        /// The fingerprint of the database's key.
        known: String,
    },
    /// The database still contains the key that it was created with, and another key was given.
    #[error("the database contains a secret key, and another one was given")]
    Held,
    /// The key is set in the environment, where Windlass cannot replace it.
    #[error("the secret key is set in the environment")]
    FromEnvironment,
    /// The database cannot be used.
    #[error("cannot use the database: {0}")]
    Store(#[from] StoreError),
}

impl KeyError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            KeyError::File { .. } => "check the permissions of the file and its directory",
            KeyError::NotPlain { .. } => {
                "replace it with a regular file that only the server's user can read"
            }
            KeyError::Exposed { .. } => {
                "run chmod 600 on it; if someone may have read it, also `windlass key rotate --overlap 0s`"
            }
            KeyError::Unreadable { .. } => {
                "it must contain one key of at least 32 characters; create one with `windlass key rotate`"
            }
            KeyError::Missing { .. } => {
                "copy secret.key from the server that uses this database, or give it with --secret-key-file or \
                 WINDLASS_SECRET_KEY; if it is lost, create a new one with `windlass key reset`"
            }
            KeyError::NoFile { .. } => "check --secret-key-file",
            KeyError::Foreign { .. } => {
                "every server on one database needs the same key: copy secret.key, or give the same \
                 --secret-key-file or WINDLASS_SECRET_KEY; if the other key is lost, run `windlass key reset`"
            }
            KeyError::Held => {
                "start once without --secret-key-file and WINDLASS_SECRET_KEY: Windlass moves the key from the \
                 database to secret.key in the data directory; then give that one to every server"
            }
            KeyError::FromEnvironment => {
                "set WINDLASS_SECRET_KEY to the text that `windlass key rotate` prints"
            }
            KeyError::Store(_) => "check --data-dir and --database",
        }
    }
}
