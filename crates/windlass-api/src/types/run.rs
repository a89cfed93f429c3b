//! Sync runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How to sync.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncBody {
    /// Says that destroying most of what the repository owns is meant.
    #[serde(default)]
    pub confirm_mass_destroy: bool,
}

/// A sync run. In lists without `diff`, `proposals`, actions, `problems` and `drift_after_apply`: ask for the run itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// Its repository's id.
    pub repository_id: String,
    /// Its repository's name.
    pub repository_name: String,
    /// `in_progress`, `success`, `diff_ready`, `partial`, `failed`, `applied` or `applied_manually`.
    pub status: String,
    /// Where it is while it is in progress: `queued`, `fetching` or `comparing`; then `finished`.
    pub stage: String,
    /// What it or its proposals wait for, for people.
    pub waiting_for: Vec<String>,
    /// `schedule`, `request`, `webhook` or `revert`.
    pub trigger: String,
    /// Who asked for it.
    pub requested_by: Option<String>,
    /// The commit it read.
    pub commit_sha: Option<String>,
    /// Who wrote that.
    pub commit_author: Option<String>,
    /// The first line of its message.
    pub commit_subject: Option<String>,
    /// The whole message. Lists leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_message: Option<String>,
    /// How the branch moved: `first`, `unchanged`, `fast_forward` or `rewritten`.
    pub movement: Option<String>,
    /// What differs: kind → add, update, delete → names; SD-WAN kinds under `sdwan`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub diff: Value,
    /// How many differ.
    pub diff_count: usize,
    /// How many are left for later runs.
    pub remaining: usize,
    /// Whether someone has to decide.
    pub requires_approval: bool,
    /// The run's proposals as one batch, approvable as one.
    pub approval_request_id: String,
    /// Its proposals, in the order in which they are applied.
    pub proposals: Vec<RunProposal>,
    /// What was applied.
    pub applied_actions: Vec<ActionInfo>,
    /// What failed.
    pub failed_actions: Vec<ActionInfo>,
    /// What was not applied, and why.
    pub skipped_actions: Vec<ActionInfo>,
    /// What still differed after applying, in the form of `diff`; null before.
    pub drift_after_apply: Option<Value>,
    /// Problems in the files.
    pub problems: Vec<Problem>,
    /// Why it failed.
    pub error: Option<RunErrorInfo>,
    /// When it was asked for.
    pub created_at: String,
    /// When it began.
    pub started_at: Option<String>,
    /// When it had compared, or failed.
    pub completed_at: Option<String>,
    /// When the last of its proposals was closed.
    pub applied_at: Option<String>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunErrorInfo {
    /// A stable word.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

/// A proposal as part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunProposal {
    /// Its id.
    pub id: String,
    /// For example `create_template`.
    pub action: String,
    /// The kind of resource.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// `create`, `update` or `destroy`.
    pub change: String,
    /// The spec that is created, updated to or destroyed, with its name.
    pub payload: Value,
    /// Where it is in its life.
    pub status: String,
    /// What it waits for beside approval.
    pub blocked_by: Vec<String>,
}

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActionInfo {
    /// The proposal, if there was one.
    pub proposal_id: Option<String>,
    /// For example `create_template`.
    pub action: String,
    /// The kind of resource.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Why it failed or was skipped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub at: Option<String>,
}

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Problem {
    /// `error` or `warning`.
    pub severity: String,
    /// A stable word; `windlass explain CODE` tells more.
    pub code: String,
    /// Where in the document, for example `nodes[3].template`.
    pub path: String,
    /// Which file.
    pub file: String,
    /// Which line, from 1; 0 if it has no place.
    pub line: usize,
    /// Which column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    #[serde(default)]
    pub help: Option<String>,
}

/// A run under its name and, as the runbook prints it, by itself.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunEnvelope {
    /// The run.
    pub sync_run: RunInfo,
}

/// Runs, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunList {
    /// Without their proposals.
    pub sync_runs: Vec<RunInfo>,
    /// Where the list goes on.
    pub meta: super::PageMeta,
}
