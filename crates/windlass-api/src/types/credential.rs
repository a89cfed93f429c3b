//! Credentials that repositories can name: where they are, never what they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialInfo {
    /// Where it is, for a repository's `vault_credential_path`.
    pub path: String,
}

/// Credentials by path.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CredentialList {
    /// The credentials.
    pub vault_credentials: Vec<CredentialInfo>,
    /// Whether these are all: only so many are listed.
    pub complete: bool,
}
