//! Where credentials come from.
//!
//! A repository names its credential by a path; what is kept there comes out as a [`Fields`], or as the precise
//! reason why not. There is no fallback: a credential that cannot be had is an error, never an anonymous try.

mod directory;
mod vault;

use std::collections::BTreeMap;

use windlass_core::redacted::Redacted;

pub use directory::Directory;
pub use vault::{Listing, Login, SettingsError, Vault, VaultError, VaultSettings};

/// Stands for the account's name where credentials are looked for.
pub const ACCOUNT: &str = "{account}";

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
    /// Credentials are not kept in Vault, so it has no list of them.
    #[error("this server does not keep its credentials in Vault")]
    NotVault,
    /// Vault did not give it.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl SecretError {
    /// A stable word for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            SecretError::NotConfigured { .. } => "credentials-not-configured",
            SecretError::BadPath { .. } => "credential-path",
            SecretError::Missing { .. } => "credential-missing",
            SecretError::Unreadable { .. } => "credential-unreadable",
            SecretError::NotVault => "vault-not-configured",
            SecretError::Vault(error) => error.code(),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            SecretError::NotConfigured { .. } => {
                "start the server with --credentials-dir or --vault-addr, or remove the path"
            }
            SecretError::BadPath { .. } => "paths are relative, with `/` between parts and no `..`",
            SecretError::Missing { .. } => "put it there, or correct the repository's vault_credential_path",
            SecretError::Unreadable { .. } => {
                "it must be a directory with one file per key, or a JSON file of texts, readable by the server only"
            }
            SecretError::NotVault => "start the server with --vault-addr and --vault-prefix",
            SecretError::Vault(error) => error.help(),
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
    /// In Vault or OpenBao.
    Vault(Vault),
}

impl Credentials {
    /// What is kept at a path, for an account.
    pub async fn read(&self, account: &str, path: &str) -> Result<Fields, SecretError> {
        match self {
            Credentials::Nowhere => Err(SecretError::NotConfigured { path: path.to_owned() }),
            Credentials::Directory(directory) => directory.read(account, path),
            Credentials::Vault(vault) => vault.read(account, path).await,
        }
    }

    /// The paths of an account's credentials in Vault.
    pub async fn list(&self, account: &str) -> Result<Listing, SecretError> {
        match self {
            Credentials::Nowhere | Credentials::Directory(_) => Err(SecretError::NotVault),
            Credentials::Vault(vault) => vault.list(account).await,
        }
    }

    /// Whether each account has credentials of its own, so that a path means another one in each.
    pub fn is_split_by_account(&self) -> bool {
        match self {
            Credentials::Nowhere => true,
            Credentials::Directory(directory) => directory.is_split_by_account(),
            Credentials::Vault(vault) => vault.is_split_by_account(),
        }
    }

    /// Keeps alive what must not run out. To be called every minute or so.
    pub async fn keep_alive(&self) -> Result<(), SecretError> {
        match self {
            Credentials::Nowhere | Credentials::Directory(_) => Ok(()),
            Credentials::Vault(vault) => Ok(vault.keep_alive().await?),
        }
    }

    /// Why no credential at all could be had when it was last tried.
    pub fn trouble(&self) -> Option<SecretError> {
        match self {
            Credentials::Nowhere | Credentials::Directory(_) => None,
            Credentials::Vault(vault) => vault.trouble().map(SecretError::Vault),
        }
    }
}
