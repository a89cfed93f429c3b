//! Previews: what a commit or files would change, without proposing it.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What to look at: exactly one of `ref`, `commit` and `files`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreviewBody {
    /// A branch, or a whole reference such as `refs/pull/7/head`; the server fetches it.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A commit by its whole id. Beside `ref`: where that must lead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The files themselves, by their path from the directory of fleet.yaml.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<BTreeMap<String, String>>,
    /// Beside `files`: other paths that the fleet names and that are there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Beside `files`: what they are called in lists, for example the branch. The last preview of each name is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Plans even if most of what the repository owns would be destroyed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub confirm_mass_destroy: bool,
}

/// What a commit or files would change. Nothing was proposed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewInfo {
    /// Its id, which stays when the same reference is looked at again.
    pub id: String,
    /// Its repository's id.
    pub repository_id: String,
    /// Its repository's name.
    pub repository_name: String,
    /// The directory of fleet.yaml in the repository.
    pub path_prefix: String,
    /// `git` if the server fetched what it looked at, `files` if they were sent.
    pub source: String,
    /// The branch, reference or commit; for files, what they were called.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit it was read at; none for files.
    pub commit_sha: Option<String>,
    /// The commit of the last good sync at that time.
    pub base_commit: Option<String>,
    /// `nothing`, `changes` or `problems`.
    pub outcome: String,
    /// How many changes there would be.
    pub changes: usize,
    /// Who asked for it; none if a pull request did.
    pub requested_by: Option<String>,
    /// When it was made.
    pub created_at: String,
    /// The plan, as `windlass plan --format json` prints it, with what would become of each step. Not in lists.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub plan: Value,
}

/// A preview under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PreviewEnvelope {
    /// The preview.
    pub preview: PreviewInfo,
}

/// Previews, newest first, without their plans.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PreviewList {
    /// The last one of each reference.
    pub previews: Vec<PreviewInfo>,
}
