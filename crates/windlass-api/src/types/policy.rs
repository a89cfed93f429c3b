//! The approval policy of an account.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A new policy, as a document.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PolicyBody {
    /// The policy: `rules: […]`. A text is read as YAML, so that problems have lines.
    pub policy: Value,
}

/// The policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PolicyInfo {
    /// The rules, first match wins.
    pub policy: Value,
    /// Names in its rules whose repositories were removed: these match nothing, even if a new repository gets the same
    /// name.
    #[serde(default)]
    pub unknown_repositories: Vec<String>,
    /// For `If-Match`.
    pub version: i64,
}
