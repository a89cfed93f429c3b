//! Where credentials come from.
//!
//! A repository names its credential by a path; what is kept there comes out as a [`Fields`], or as the precise
//! reason why not. There is no fallback: a credential that cannot be had is an error, never an anonymous try.

mod directory;
mod error;
mod kept;
mod vault;
mod vault_error;

pub use directory::Directory;
pub use error::SecretError;
pub use kept::{ACCOUNT, Fields};
pub use vault::{Listing, Login, Vault, VaultSettings};
pub use vault_error::{SettingsError, VaultError};

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
