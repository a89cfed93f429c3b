//! The fields of a credential, and the placeholder for an account in paths.

use std::collections::BTreeMap;

use windlass_core::redacted::Redacted;

/// The placeholder for the account's name in the location of credentials.
pub const ACCOUNT: &str = "{account}";

/// The fields of a credential, each with its secret value.
pub type CredentialFields = BTreeMap<String, Redacted<String>>;
