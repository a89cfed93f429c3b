//! Sync runs.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::code::ProblemSeverity;
use windlass_core::diff::Action;
use windlass_core::plan::SetKind;
use windlass_core::proposal::{BlockedByKind, Status};
use windlass_core::run::{Movement, RunStatus, Stage, Trigger};

use crate::word::Word;

/// Options of a sync.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncBody {
    /// Confirms that the sync may destroy most of what the repository owns. Needs the permission
    /// `system.gitops.approve`.
    #[serde(default)]
    pub confirm_mass_destroy: bool,
    /// The only commit that the confirmation covers. Default: the commit of the newest stopped run, else the fetched
    /// commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// A sync run. Lists omit `diff`, `proposals`, actions, `problems` and `drift_after_apply`: get the run itself for them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunInfo {
    /// Its id.
    pub id: String,
    /// Its repository's id.
    pub repository_id: String,
    /// Its repository's name.
    pub repository_name: String,
    /// Its status.
    #[schemars(with = "Word<RunStatus>")]
    pub status: RunStatus,
    /// Its stage while in progress; then `finished`.
    #[schemars(with = "Word<Stage>")]
    pub stage: Stage,
    /// What blocks it or its proposals, in words.
    pub waiting_for: Vec<String>,
    /// What triggered it.
    #[schemars(with = "Word<Trigger>")]
    pub trigger: Trigger,
    /// Who requested it.
    pub requested_by: Option<String>,
    /// The commit it read.
    pub commit_sha: Option<String>,
    /// The commit's author.
    pub commit_author: Option<String>,
    /// The first line of its message.
    pub commit_subject: Option<String>,
    /// The whole message. Not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit_message: Option<String>,
    /// How the branch moved.
    #[schemars(with = "Option<Word<Movement>>")]
    pub movement: Option<Movement>,
    /// The differences: kind → add, update, delete → names; SD-WAN kinds under `sdwan`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub diff: Value,
    /// The number of differences.
    pub diff_count: usize,
    /// How many changes are not proposed yet because of the cap. Windlass proposes them as others are closed.
    pub remaining: usize,
    /// Whether proposals are pending approval.
    pub requires_approval: bool,
    /// The id of the batch of the run's proposals, which can be approved together.
    pub approval_request_id: String,
    /// The digest of its plan; none if there were no changes. Not in lists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// The sets of the plan that can be approved together, including changes not proposed yet: first the whole plan,
    /// then groups of identical changes. Empty if a newer run has another plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<ChangeSetInfo>,
    /// Whether its repository's proposals are on hold because of it: it is the newest run, it failed, and nobody
    /// confirmed the failure.
    #[serde(default)]
    pub holds_proposals: bool,
    /// Its proposals, in the order in which they are applied.
    pub proposals: Vec<RunProposal>,
    /// Applied changes.
    pub applied_actions: Vec<ActionInfo>,
    /// Failed changes.
    pub failed_actions: Vec<ActionInfo>,
    /// Changes that were not applied, with the reason.
    pub skipped_actions: Vec<ActionInfo>,
    /// The differences left after applying, in the form of `diff`; null before.
    pub drift_after_apply: Option<Value>,
    /// Problems in the files.
    pub problems: Vec<Problem>,
    /// Why it failed.
    pub error: Option<RunErrorInfo>,
    /// When it was requested.
    pub created_at: String,
    /// When it started.
    pub started_at: Option<String>,
    /// When the comparison finished or failed.
    pub completed_at: Option<String>,
    /// When the last of its proposals was closed.
    pub applied_at: Option<String>,
}

/// Changes of a plan that can be approved together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSetInfo {
    /// Its digest, which an approval gives.
    pub digest: String,
    /// Whether it is the whole plan or a group of it.
    #[schemars(with = "Word<SetKind>")]
    pub scope: SetKind,
    /// The kind of a group's resources.
    pub kind: Option<String>,
    /// The action of a group.
    #[schemars(with = "Option<Word<Action>>")]
    pub change: Option<Action>,
    /// How many changes.
    pub count: usize,
    /// How many of them are destroys.
    pub destroys: usize,
    /// The first few names.
    pub names: Vec<String>,
    /// Who approved it, while the approval is valid.
    pub approved_by: Vec<String>,
}

/// An approval of a set of a run's plan.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveSetBody {
    /// The digest of the set that was reviewed: the whole plan, or one of its groups. If the plan has changed since,
    /// nothing is approved.
    pub digest: String,
    /// Confirms the set's destroys. Required if it has any.
    #[serde(default)]
    pub include_destroys: bool,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The result of approving a set. The approval also covers changes that are proposed later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovedSet {
    /// The digest that was approved.
    pub digest: String,
    /// Whether it is the whole plan or a group of it.
    #[schemars(with = "Word<SetKind>")]
    pub scope: SetKind,
    /// How many changes it covers.
    pub count: usize,
    /// How many of them are destroys.
    pub destroys: usize,
    /// How many of its proposals are now approved.
    pub approved: usize,
    /// How many of its proposals need more approvals.
    pub waiting: usize,
    /// How many of its changes are not proposed yet, already closed, or edited and so not covered.
    pub not_open: usize,
    /// Why this approval is not valid for some open proposals; the first few reasons.
    pub not_counted: Vec<String>,
}

/// A confirmation of a failed run, which resumes applying the repository's proposals.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmFailureBody {
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunErrorInfo {
    /// A stable code.
    pub code: String,
    /// The error message.
    pub message: String,
    /// How to fix it.
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
    /// What is done.
    #[schemars(with = "Word<Action>")]
    pub change: Action,
    /// The spec that is created, updated to or destroyed, with its name.
    pub payload: Value,
    /// Its status.
    #[schemars(with = "Word<Status>")]
    pub status: Status,
    /// What blocks it, besides missing approvals.
    pub blocked_by: Vec<String>,
    /// What each of these is about, in the same order.
    #[serde(default)]
    #[schemars(with = "Vec<Word<BlockedByKind>>")]
    pub blocked_by_kinds: Vec<BlockedByKind>,
}

/// The result of one change.
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
    /// Its severity.
    #[schemars(with = "Word<ProblemSeverity>")]
    pub severity: ProblemSeverity,
    /// A stable code; see `windlass explain CODE`.
    pub code: String,
    /// Where in the document, for example `nodes[3].template`.
    pub path: String,
    /// Which file.
    pub file: String,
    /// The line, from 1; 0 if unknown.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// How to fix it.
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
    /// The next page.
    pub meta: super::PageMeta,
}
