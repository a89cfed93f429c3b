//! Errors of reading a credential.

use crate::vault_error::VaultError;

/// Why a credential could not be read. Contains no part of the credential.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum SecretError {
    /// No credential store is configured.
    #[error("the credential {path} is needed, but this server has no credential store")]
    NotConfigured {
        /// The path.
        path: String,
    },
    /// The path is not valid.
    #[error("`{path}` is not the path of a credential")]
    BadPath {
        /// The path.
        path: String,
    },
    /// The path does not exist.
    #[error("the credential {path} does not exist")]
    Missing {
        /// The path.
        path: String,
    },
    /// The credential exists and cannot be read.
    #[error("cannot read the credential {path}: {reason}")]
    Unreadable {
        /// The path.
        path: String,
        /// The reason.
        reason: String,
    },
    /// The credential store is not Vault, and only Vault can list credentials.
    #[error("this server does not use Vault for credentials")]
    NotVault,
    /// Vault returned an error.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

impl SecretError {
    /// A stable code for scripts.
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

    /// How to fix it.
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
