//! Drift: what was changed by hand, and what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::diff::Action;

use crate::word::Word;

/// How a repository's resources differ from git.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftReport {
    /// Whether there is drift that is neither reverted, adopted nor accepted.
    pub drift: bool,
    /// The repository's id.
    pub repository_id: String,
    /// The commit the accepted state is compared with.
    pub commit_sha: Option<String>,
    /// When that commit was read.
    pub compared_with: Option<String>,
    /// Drifted resources: changed directly in Windlass.
    pub drifted: Vec<DriftItem>,
    /// Pending differences: changed in git and not applied yet.
    pub pending: Vec<DriftItem>,
    /// Accepted differences.
    pub accepted: Vec<DriftItem>,
    /// All differences in the form of a run's `diff`.
    pub diff: Value,
}

/// One resource that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftItem {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The change that would restore the state in git.
    #[schemars(with = "Word<Action>")]
    pub change: Action,
    /// The fields that differ: `before` is the state in git, `after` the accepted state.
    pub fields: Vec<super::FieldChange>,
    /// Who changed it.
    pub changed_by: Option<String>,
    /// When.
    pub changed_at: Option<String>,
    /// The open proposal about it.
    pub proposal_id: Option<String>,
    /// Its acceptance.
    pub acceptance: Option<Acceptance>,
}

/// The acceptance of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acceptance {
    /// Who accepted it.
    pub by: String,
    /// The reason.
    pub reason: String,
    /// When it ends; null: when either side changes.
    pub until: Option<String>,
}

/// A drifted resource.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftTarget {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The result of a revert: a run that proposes the change back.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reverted {
    /// The run that proposes it.
    pub sync_run_id: String,
    /// A message for people.
    pub message: String,
}

/// What to adopt into git, and how.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdoptBody {
    /// The resources. Default: all drifted resources.
    #[serde(default)]
    pub resources: Vec<DriftTarget>,
    /// A branch to push the change to. Without one, the response contains only the patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The change that writes the accepted state into git.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Adopted {
    /// The patch, for `git apply`.
    pub patch: String,
    /// The branch it was pushed to.
    pub branch: Option<String>,
    /// The commit on that branch.
    pub commit_sha: Option<String>,
}

/// A difference to accept.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptBody {
    /// The resource's kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// When the acceptance ends (RFC 3339). Default: when either side changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The reason.
    pub reason: String,
}
