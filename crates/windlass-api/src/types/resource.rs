//! Accepted resources.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An accepted resource.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ResourceInfo {
    /// Its id.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What it is, with defaults.
    pub spec: Value,
    /// What Windlass chose where the spec says nothing, for example a network's addresses.
    pub allocated: Value,
    /// The digest of the spec.
    pub digest: String,
    /// The repository that owns it.
    pub owner: Option<OwnerInfo>,
    /// Why it is meant to differ from git, if it is.
    pub differs_because: Option<String>,
    /// How often it was changed. For `If-Match`.
    pub generation: i64,
    /// Since when it exists.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// By whom.
    pub updated_by: String,
}

/// The repository that owns a resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnerInfo {
    /// Its id.
    pub repository_id: String,
    /// Its name.
    pub repository_name: String,
}

/// Resources by kind and name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ResourceList {
    /// The resources.
    pub resources: Vec<ResourceInfo>,
    /// Where the list goes on.
    pub meta: super::PageMeta,
}
