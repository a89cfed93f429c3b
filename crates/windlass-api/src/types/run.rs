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

/// How to sync.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SyncBody {
    /// Says that destroying most of what the repository owns is meant. Needs the permission `system.gitops.approve`.
    #[serde(default)]
    pub confirm_mass_destroy: bool,
    /// The commit for which it is meant: another one is stopped again. Left out, that of the newest run that was stopped; where
    /// none was, the one that is found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
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
    /// Where it is.
    #[schemars(with = "Word<RunStatus>")]
    pub status: RunStatus,
    /// Where it is while it is in progress; then `finished`.
    #[schemars(with = "Word<Stage>")]
    pub stage: Stage,
    /// What it or its proposals wait for, for people.
    pub waiting_for: Vec<String>,
    /// What made it happen.
    #[schemars(with = "Word<Trigger>")]
    pub trigger: Trigger,
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
    /// How the branch moved.
    #[schemars(with = "Option<Word<Movement>>")]
    pub movement: Option<Movement>,
    /// What differs: kind → add, update, delete → names; SD-WAN kinds under `sdwan`.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub diff: Value,
    /// How many differ.
    pub diff_count: usize,
    /// How many are not proposed yet: the cap has no room for them. They are proposed as others are done.
    pub remaining: usize,
    /// Whether someone has to decide.
    pub requires_approval: bool,
    /// The run's proposals as one batch, approvable as one.
    pub approval_request_id: String,
    /// The digest of its plan; none if there was nothing to do. Lists leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_digest: Option<String>,
    /// What of the plan can be approved as one, what is not proposed yet included: the whole plan first, then groups of
    /// identical changes. Empty where a newer run has another plan.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<ChangeSetInfo>,
    /// Whether proposals of its repository are held because of it: it is the newest, it failed, and nobody confirmed that
    /// this is no reason to wait.
    #[serde(default)]
    pub holds_proposals: bool,
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

/// Changes of a plan that can be approved as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeSetInfo {
    /// What an approval of it names.
    pub digest: String,
    /// Whether it is the whole plan or a group of it.
    #[schemars(with = "Word<SetKind>")]
    pub scope: SetKind,
    /// The kind that all of a group share.
    pub kind: Option<String>,
    /// What is done, of a group.
    #[schemars(with = "Option<Word<Action>>")]
    pub change: Option<Action>,
    /// How many changes.
    pub count: usize,
    /// How many of them destroy something.
    pub destroys: usize,
    /// The first names.
    pub names: Vec<String>,
    /// Who approved it, while that counts.
    pub approved_by: Vec<String>,
}

/// An approval of a set of a run's plan.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveSetBody {
    /// The digest of the set that was reviewed: of the whole plan, or of one of its groups. If the plan has no such set by
    /// now, nothing is approved.
    pub digest: String,
    /// Says that what the set destroys is meant. Needed where it destroys anything.
    #[serde(default)]
    pub include_destroys: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An approval of a set, and what it comes to now. What is not proposed yet is covered when it is proposed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovedSet {
    /// The digest that was approved.
    pub digest: String,
    /// Whether it is the whole plan or a group of it.
    #[schemars(with = "Word<SetKind>")]
    pub scope: SetKind,
    /// How many changes it covers.
    pub count: usize,
    /// How many of them destroy something.
    pub destroys: usize,
    /// How many proposals of it are approved by it now.
    pub approved: usize,
    /// How many proposals of it need more approvals.
    pub waiting: usize,
    /// How many of it are not proposed yet, done already, or open with an edit that the set does not cover.
    pub not_open: usize,
    /// Why this approval does not count for some of the open proposals; the first of them.
    pub not_counted: Vec<String>,
}

/// A confirmation that a failed sync is no reason to hold the repository's proposals.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfirmFailureBody {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
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
    /// What is done.
    #[schemars(with = "Word<Action>")]
    pub change: Action,
    /// The spec that is created, updated to or destroyed, with its name.
    pub payload: Value,
    /// Where it is in its life.
    #[schemars(with = "Word<Status>")]
    pub status: Status,
    /// What it waits for beside approval.
    pub blocked_by: Vec<String>,
    /// What each of these is about, in the same order.
    #[serde(default)]
    #[schemars(with = "Vec<Word<BlockedByKind>>")]
    pub blocked_by_kinds: Vec<BlockedByKind>,
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
    /// How much it matters.
    #[schemars(with = "Word<ProblemSeverity>")]
    pub severity: ProblemSeverity,
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
