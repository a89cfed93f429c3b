//! What is kept at a path, and for whom.

use std::collections::BTreeMap;

use windlass_core::redacted::Redacted;

/// Stands for the account's name where credentials are looked for.
pub const ACCOUNT: &str = "{account}";

/// What is kept at a path: fields and their secrets.
pub type CredentialFields = BTreeMap<String, Redacted<String>>;
