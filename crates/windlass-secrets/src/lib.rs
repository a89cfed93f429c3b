//! Where credentials come from.
//!
//! A repository names its credential by a path; what is kept there comes out as a [`CredentialFields`], or as the precise
//! reason why not. There is no fallback: a credential that cannot be had is an error, never an anonymous try.

mod directory;
mod error;
mod kept;
mod vault;
mod vault_error;

pub use directory::CredentialDirectory;
pub use error::SecretError;
pub use kept::{ACCOUNT, CredentialFields};
pub use vault::{CredentialListing, Vault, VaultLogin, VaultSettings};
pub use vault_error::{SettingsError, VaultError};

/// Where credentials are kept.
#[derive(Clone, Debug)]
pub enum CredentialStore {
    /// Nowhere: only what needs none can be reached.
    Nowhere,
    /// In files below a directory, as Kubernetes and systemd mount secrets.
    Directory(CredentialDirectory),
    /// In Vault or OpenBao.
    Vault(Vault),
}

impl CredentialStore {
    /// What is kept at a path, for an account.
    pub async fn read(&self, account: &str, path: &str) -> Result<CredentialFields, SecretError> {
        match self {
            CredentialStore::Nowhere => Err(SecretError::NotConfigured { path: path.to_owned() }),
            CredentialStore::Directory(directory) => directory.read(account, path),
            CredentialStore::Vault(vault) => vault.read(account, path).await,
        }
    }

    /// The paths of an account's credentials in Vault.
    pub async fn list(&self, account: &str) -> Result<CredentialListing, SecretError> {
        match self {
            CredentialStore::Nowhere | CredentialStore::Directory(_) => Err(SecretError::NotVault),
            CredentialStore::Vault(vault) => vault.list(account).await,
        }
    }

    /// Whether each account has credentials of its own, so that a path means another one in each.
    pub fn is_split_by_account(&self) -> bool {
        match self {
            CredentialStore::Nowhere => true,
            CredentialStore::Directory(directory) => directory.is_split_by_account(),
            CredentialStore::Vault(vault) => vault.is_split_by_account(),
        }
    }

    /// Keeps alive what must not run out. To be called every minute or so.
    pub async fn keep_alive(&self) -> Result<(), SecretError> {
        match self {
            CredentialStore::Nowhere | CredentialStore::Directory(_) => Ok(()),
            CredentialStore::Vault(vault) => Ok(vault.keep_alive().await?),
        }
    }

    /// Why no credential at all could be had when it was last tried.
    pub fn last_problem(&self) -> Option<SecretError> {
        match self {
            CredentialStore::Nowhere | CredentialStore::Directory(_) => None,
            CredentialStore::Vault(vault) => vault.trouble().map(SecretError::Vault),
        }
    }
}
