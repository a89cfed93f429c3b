//! Where credentials come from.
//!
//! A repository names its credential by a path; what is kept there comes out as a [`Fields`], or as the precise
//! reason why not. There is no fallback: a credential that cannot be had is an error, never an anonymous try.

mod directory;

use std::collections::BTreeMap;

use windlass_core::redacted::Redacted;

pub use directory::Directory;

/// What is kept at a path: fields and their secrets.
pub type Fields = BTreeMap<String, Redacted<String>>;

/// Why a credential could not be had. Never holds any of it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SecretError {
    /// No place for credentials was configured.
    #[error("the credential {path} is needed, but this server keeps no credentials")]
    NotConfigured {
        /// Which.
        path: String,
    },
    /// The path is not one.
    #[error("`{path}` is not the path of a credential")]
    BadPath {
        /// Which.
        path: String,
    },
    /// There is nothing at the path.
    #[error("there is no credential {path}")]
    Missing {
        /// Which.
        path: String,
    },
    /// What is there cannot be read.
    #[error("the credential {path} cannot be read: {reason}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why not.
        reason: String,
    },
}

impl SecretError {
    /// A stable word for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            SecretError::NotConfigured { .. } => "credentials-not-configured",
            SecretError::BadPath { .. } => "credential-path",
            SecretError::Missing { .. } => "credential-missing",
            SecretError::Unreadable { .. } => "credential-unreadable",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            SecretError::NotConfigured { .. } => {
                "start the server with --credentials-dir, or remove the path"
            }
            SecretError::BadPath { .. } => "paths are relative, with `/` between parts and no `..`",
            SecretError::Missing { .. } => "put it there, or correct the repository's vault_credential_path",
            SecretError::Unreadable { .. } => {
                "it must be a directory with one file per key, or a JSON file of texts, readable by the server only"
            }
        }
    }
}

/// Where credentials are kept.
#[derive(Clone, Debug)]
pub enum Credentials {
    /// Nowhere: only what needs none can be reached.
    Nowhere,
    /// In files below a directory, as Kubernetes and systemd mount secrets.
    Directory(Directory),
}

impl Credentials {
    /// What is kept at a path.
    pub fn read(&self, path: &str) -> Result<Fields, SecretError> {
        match self {
            Credentials::Nowhere => Err(SecretError::NotConfigured { path: path.to_owned() }),
            Credentials::Directory(directory) => directory.read(path),
        }
    }
}
