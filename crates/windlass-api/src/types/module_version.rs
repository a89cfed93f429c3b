//! Versions of modules.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass_core::value::Lifecycle;

use crate::word::Word;

/// A version of a module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModuleVersionInfo {
    /// Its name: `module@version`.
    pub name: String,
    /// Its number; none for a module without a version.
    pub version: Option<String>,
    /// Its state.
    #[schemars(with = "Word<Lifecycle>")]
    pub state: Lifecycle,
    /// The digest of its content, which never changes.
    pub content_digest: String,
    /// Whether the module describes this version now.
    pub is_current: bool,
    /// Where it is from.
    pub origin: VersionOrigin,
    /// How many accepted resources use it.
    pub used_by: VersionUse,
    /// When it was last changed; none unless it was made in this account.
    pub updated_at: Option<String>,
    /// Who last changed it.
    pub updated_by: Option<String>,
}

/// Where a version is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VersionOrigin {
    /// Applying a module made it.
    Made,
    /// A module describes it that was applied before versions existed, or that has no version.
    Module,
    /// The catalogue, which every account has.
    Catalogue,
}

/// How many accepted resources use a version, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VersionUse {
    /// Templates.
    pub templates: usize,
    /// Modules that depend on it.
    pub modules: usize,
    /// Assignments.
    pub assignments: usize,
    /// Versions of other modules that depend on it.
    pub versions: usize,
}

/// The versions of a module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModuleVersionList {
    /// The module.
    pub module: String,
    /// Its versions, newest first.
    pub versions: Vec<ModuleVersionInfo>,
}

/// A change of a version's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModuleVersionBody {
    /// The new state.
    #[schemars(with = "Word<Lifecycle>")]
    pub state: Lifecycle,
}
