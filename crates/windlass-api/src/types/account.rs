//! Accounts and their state.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An account to create.
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
    /// When it was created.
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

/// A request to halt.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HaltBody {
    /// The reason.
    #[serde(default)]
    pub reason: String,
}

/// A halt of applying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HaltInfo {
    /// Who halted it.
    pub by: String,
    /// When.
    pub at: String,
    /// The reason.
    pub reason: String,
}

/// An account's status.
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
    /// Drifted resources: changed directly in Windlass, not in git.
    pub drifted: usize,
    /// What blocks changes, in words.
    pub waiting_for: Vec<String>,
}
