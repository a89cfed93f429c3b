//! Accounts and their state.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account to make.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AccountBody {
    /// Its name: letters, digits, `.`, `_` and `-`.
    pub name: String,
}

/// An account.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AccountInfo {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Whether applying is halted.
    pub halted: Option<HaltInfo>,
    /// Since when it exists.
    pub created_at: String,
}

/// An account under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccountEnvelope {
    /// The account.
    pub account: AccountInfo,
}

/// Accounts by name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AccountList {
    /// The accounts.
    pub accounts: Vec<AccountInfo>,
}

/// Why to halt.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HaltBody {
    /// Why.
    #[serde(default)]
    pub reason: String,
}

/// A pulled kill switch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HaltInfo {
    /// Who pulled it.
    pub by: String,
    /// When.
    pub at: String,
    /// Why.
    pub reason: String,
}

/// An account at a glance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Status {
    /// The account.
    pub account: AccountInfo,
    /// The server's version.
    pub version: String,
    /// Kind of resource → how many.
    pub resources: BTreeMap<String, usize>,
    /// State of open proposals → how many.
    pub proposals: BTreeMap<String, usize>,
    /// Repositories that are registered.
    pub repositories: usize,
    /// Repositories whose last run failed.
    pub repositories_failed: Vec<String>,
    /// Resources that were changed by hand.
    pub drifted: usize,
    /// What is waited for, in words: why nothing happens, if nothing happens.
    pub waiting_for: Vec<String>,
}
