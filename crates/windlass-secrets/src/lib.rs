//! Where credentials are read from.
//!
//! A repository names its credential by a path. Reading it returns the [`CredentialFields`] or a precise error. There
//! is no fallback: if a credential cannot be read, Windlass never tries an anonymous request instead.

mod credential_fields;
mod directory;
mod error;
mod vault;
mod vault_error;

pub use credential_fields::{ACCOUNT, CredentialFields};
pub use directory::CredentialDirectory;
pub use error::SecretError;
pub use vault::{CredentialListing, Vault, VaultLogin, VaultSettings};
pub use vault_error::{SettingsError, VaultError};

/// Where credentials are stored.
#[derive(Clone, Debug)]
pub enum CredentialStore {
    /// No store: only remotes that need no credential can be used.
    Nowhere,
    /// In files below a directory, as Kubernetes and systemd mount secrets.
    Directory(CredentialDirectory),
    /// In Vault or OpenBao.
    Vault(Vault),
}

impl CredentialStore {
    /// The fields of the credential at a path, for an account.
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

    /// Whether each account has its own credentials, so that one path names a different credential in each account.
    pub fn is_split_by_account(&self) -> bool {
        match self {
            CredentialStore::Nowhere => true,
            CredentialStore::Directory(directory) => directory.is_split_by_account(),
            CredentialStore::Vault(vault) => vault.is_split_by_account(),
        }
    }

    /// Renews the token of the store before it expires. The server calls this about once a minute.
    pub async fn keep_alive(&self) -> Result<(), SecretError> {
        match self {
            CredentialStore::Nowhere | CredentialStore::Directory(_) => Ok(()),
            CredentialStore::Vault(vault) => Ok(vault.keep_alive().await?),
        }
    }

    /// The problem that affected every credential at the last attempt, if there was one.
    pub fn last_problem(&self) -> Option<SecretError> {
        match self {
            CredentialStore::Nowhere | CredentialStore::Directory(_) => None,
            CredentialStore::Vault(vault) => vault.last_error().map(SecretError::Vault),
        }
    }
}
