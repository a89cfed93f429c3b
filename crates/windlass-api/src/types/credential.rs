//! Credentials that repositories can name: where they are, never what they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A credential.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialInfo {
    /// Where it is, for a repository's `vault_credential_path`.
    pub path: String,
    /// The hosts it is bound to, as `host:port`. A credential that names its hosts itself needs none.
    #[serde(default)]
    pub hosts: Vec<String>,
}

/// A host that a credential may be told to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialBindingInfo {
    /// Where the credential is kept.
    pub credential_path: String,
    /// The host, as `host:port`.
    pub host: String,
    /// Who bound it: a person, or `windlass` when it was upgraded.
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

/// A credential and a host it may be told to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CredentialBindingBody {
    /// Where the credential is kept.
    pub credential_path: String,
    /// `host:port`, or `host` for port 443.
    pub host: String,
}

/// Credentials by path.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CredentialList {
    /// The credentials.
    pub vault_credentials: Vec<CredentialInfo>,
    /// Whether these are all: only so many are listed.
    pub complete: bool,
}
