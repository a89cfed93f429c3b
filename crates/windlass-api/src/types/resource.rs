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
    /// Its spec, with defaults.
    pub spec: Value,
    /// Values that Windlass allocated where the spec gives none, for example a network's addresses.
    pub allocated: Value,
    /// The digest of the spec.
    pub digest: String,
    /// The repository that owns it.
    pub owner: Option<OwnerInfo>,
    /// Why its difference from git was accepted, if it was.
    pub differs_because: Option<String>,
    /// The number of its changes. For `If-Match`.
    pub generation: i64,
    /// When it was created.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
    /// Who last changed it.
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
    /// The next page.
    pub meta: super::PageMeta,
}
