//! Drift: what was changed by hand, and what to do about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::diff::Action;

use crate::word::Word;

/// How a repository's resources differ from git.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriftReport {
    /// Whether anything was changed by hand and is neither reverted, adopted nor accepted.
    pub drift: bool,
    /// The repository's id.
    pub repository_id: String,
    /// The commit the accepted state is compared with.
    pub commit_sha: Option<String>,
    /// When that was read.
    pub compared_with: Option<String>,
    /// What was changed by hand.
    pub drifted: Vec<DriftItem>,
    /// Differences that only wait for approval: git moved, nobody changed anything by hand.
    pub pending: Vec<DriftItem>,
    /// Differences that someone said are meant.
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
    /// What making it as git says would be.
    #[schemars(with = "Word<Action>")]
    pub change: Action,
    /// The fields that differ: `before` is what git says, `after` the accepted state.
    pub fields: Vec<super::FieldChange>,
    /// Who changed it.
    pub changed_by: Option<String>,
    /// When.
    pub changed_at: Option<String>,
    /// The open proposal about it.
    pub proposal_id: Option<String>,
    /// How it was accepted.
    pub acceptance: Option<Acceptance>,
}

/// How a difference was accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Acceptance {
    /// Who said so.
    pub by: String,
    /// Why.
    pub reason: String,
    /// Until when; null for as long as both sides stay as they are.
    pub until: Option<String>,
}

/// Which drifted resource is meant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriftTarget {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// What reverting did: the change back is a proposal like every other.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Reverted {
    /// The run that proposes it.
    pub sync_run_id: String,
    /// In words.
    pub message: String,
}

/// What to adopt into git, and how.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AdoptBody {
    /// Which resources; all that drifted if none are named.
    #[serde(default)]
    pub resources: Vec<DriftTarget>,
    /// A branch to push the change to. Without one, only the patch is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
}

/// The change that writes the accepted state into git.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Adopted {
    /// For `git apply`.
    pub patch: String,
    /// The branch it was pushed to.
    pub branch: Option<String>,
    /// The commit on that branch.
    pub commit_sha: Option<String>,
}

/// A difference that is meant.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptBody {
    /// The resource's kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Until when (RFC 3339); left out, for as long as both sides stay as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Why.
    pub reason: String,
}
