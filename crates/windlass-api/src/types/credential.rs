//! Credentials that repositories can name: where they are, never what they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialInfo {
    /// Its path, for a repository's `vault_credential_path`.
    pub path: String,
    /// The hosts it is bound to, as `host:port`. A credential with a `hosts` or `url` field needs none.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// A host that a credential is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialBindingInfo {
    /// The credential's path.
    pub credential_path: String,
    /// The host, as `host:port`.
    pub host: String,
    /// Who bound it: a user, or `windlass` during an upgrade.
    pub bound_by: String,
    /// When.
    pub bound_at: String,
}

/// Bindings by path and host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CredentialBindingList {
    /// The bindings.
    pub credential_bindings: Vec<CredentialBindingInfo>,
}

/// A credential and a host to bind it to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialBindingBody {
    /// The credential's path.
    pub credential_path: String,
    /// `host:port`, or `host` for port 443.
    pub host: String,
}

/// Credentials by path.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CredentialList {
    /// The credentials.
    pub vault_credentials: Vec<CredentialInfo>,
    /// Whether the list is complete.
    pub complete: bool,
}
