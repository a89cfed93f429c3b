//! Why a credential could not be had.

use crate::vault_error::VaultError;

/// Why a credential could not be had. Never holds any of it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SecretError {
    /// No place for credentials was configured.
    #[error("the credential {path} is needed, but this server has no credential store")]
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
    #[error("the credential {path} does not exist")]
    Missing {
        /// Which.
        path: String,
    },
    /// What is there cannot be read.
    #[error("cannot read the credential {path}: {reason}")]
    Unreadable {
        /// Which.
        path: String,
        /// Why not.
        reason: String,
    },
    /// Credentials are not kept in Vault, so it has no list of them.
    #[error("this server does not use Vault for credentials")]
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
            SecretError::Missing { .. } => "create it, or fix the repository's vault_credential_path",
            SecretError::Unreadable { .. } => {
                "it must be a directory with one file per key, or a JSON file with text values, readable only by the \
                    server"
            }
            SecretError::NotVault => "start the server with --vault-addr and --vault-prefix",
            SecretError::Vault(error) => error.help(),
        }
    }
}
