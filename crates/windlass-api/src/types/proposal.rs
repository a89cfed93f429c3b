//! Proposals and decisions about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::diff::{Action, Cause};
use windlass_core::gate::{ConsentState, ContributorRole};
use windlass_core::proposal::{BlockedByKind, Status};

use super::content::ContentDifference;
use crate::word::Word;

/// A proposal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProposalInfo {
    /// Its id.
    pub id: String,
    /// The repository's id; empty for a direct change.
    pub repository_id: String,
    /// The repository's name, or the author of the direct change.
    pub repository_name: String,
    /// The run that opened it; empty for a direct change.
    pub run_id: String,
    /// For example `create_template`.
    pub action: String,
    /// The kind of resource.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// What is done.
    #[schemars(with = "Word<Action>")]
    pub change: Action,
    /// Why.
    #[schemars(with = "Word<Cause>")]
    pub cause: Cause,
    /// The reason in words.
    pub explanation: String,
    /// The spec that is created, updated to or destroyed, with its name.
    pub payload: Value,
    /// The current accepted state, with defaults; null for a create.
    pub current: Option<Value>,
    /// The state after applying, with defaults; null for a destroy.
    pub desired: Option<Value>,
    /// The fields that differ, for an update.
    pub fields: Vec<super::FieldChange>,
    /// Differences in the files that it names. Complete for a single proposal, shortened in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentDifference>,
    /// The edited spec, if someone edited the proposal.
    pub edited_payload: Option<Value>,
    /// Who edited it.
    pub edited_by: Option<String>,
    /// The digest of what would be applied. Send it when approving, to approve exactly this revision.
    pub digest: String,
    /// The digest of the accepted state.
    pub base_digest: Option<String>,
    /// The digest of the desired state in git.
    pub desired_digest: Option<String>,
    /// The commit.
    pub commit_sha: String,
    /// The commit's author.
    pub author: Option<String>,
    /// All contributors; where a rule says `not_author`, none of them can approve it.
    #[serde(default)]
    pub contributors: Vec<ContributorInfo>,
    /// Why the list of contributors may be incomplete; where a rule says `not_author`, it then needs one more approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contributors_gap: Option<String>,
    /// The reason of a direct change.
    #[serde(default)]
    pub direct_reason: Option<String>,
    /// The file that declares the resource, and the line.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<usize>,
    /// Its status.
    #[schemars(with = "Word<Status>")]
    pub status: Status,
    /// What blocks it, besides missing approvals.
    pub blocked_by: Vec<String>,
    /// The kind of each of them, in the same order.
    #[serde(default)]
    #[schemars(with = "Vec<Word<BlockedByKind>>")]
    pub blocked_by_kinds: Vec<BlockedByKind>,
    /// The changes of the same plan that it depends on.
    pub waits_for: Vec<String>,
    /// The policy's requirements.
    pub gate: Option<GateInfo>,
    /// Who approved what.
    pub approvals: Vec<ApprovalInfo>,
    /// The reason for its status.
    pub reason: Option<String>,
    /// Who or what decided.
    pub decided_by: Option<String>,
    /// What it does to nodes. Only when a single proposal is shown, for changes that reach machines, while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effects: Option<super::ProposalEffects>,
    /// Its place in the order.
    pub position: usize,
    /// When it was opened.
    pub opened_at: String,
    /// When it expires without a decision.
    pub expires_at: String,
    /// When someone decided.
    pub decided_at: Option<String>,
    /// When it was closed.
    pub closed_at: Option<String>,
    /// For `If-Match`.
    pub version: i64,
}

/// A contributor to a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContributorInfo {
    /// How.
    #[schemars(with = "Word<ContributorRole>")]
    pub role: ContributorRole,
    /// Their e-mail address, or their login on the forge if it gives no address.
    pub person: String,
}

/// A direct change that needs approval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingChange {
    /// The proposal.
    pub proposal: ProposalInfo,
    /// What blocks it, in words.
    pub message: String,
}

/// The policy's requirements.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateInfo {
    /// The rule that matched; none for the default.
    pub rule: Option<String>,
    /// Whether consent is given.
    #[schemars(with = "Word<ConsentState>")]
    pub consent: ConsentState,
    /// The number of valid approvals.
    pub have: usize,
    /// The number of required approvals.
    pub need: usize,
    /// The reasons, in words.
    pub reasons: Vec<String>,
    /// Why it cannot be applied right now, although approved.
    pub holds: Vec<String>,
    /// Why you cannot approve it; none if you can.
    pub why_not_you: Option<String>,
}

/// An approval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalInfo {
    /// Who.
    pub approver: String,
    /// The digest of the approved content.
    pub digest: String,
    /// Whether it is valid: the content is unchanged and the approver still has the permission.
    pub counts: bool,
    /// Why.
    pub reason: Option<String>,
    /// When.
    pub at: String,
}

/// A proposal under its name.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProposalEnvelope {
    /// The proposal.
    pub proposal: ProposalInfo,
}

/// Proposals, newest first.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProposalList {
    /// The proposals.
    pub proposals: Vec<ProposalInfo>,
    /// The next page.
    pub meta: super::PageMeta,
}

/// An approval.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveBody {
    /// The digest that was reviewed. If the proposal has changed since, nothing is approved. Required for edited
    /// proposals and direct changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A rejection.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RejectBody {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Do not propose again until git or the accepted state changes. Otherwise the next sync proposes it again.
    #[serde(default)]
    pub until_change: bool,
}

/// An edit.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditBody {
    /// The whole spec, as in `payload`; null discards an edit.
    pub payload: Value,
}

/// A decision about several proposals, each independently.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchBody {
    /// What to do with them.
    pub decision: BatchDecision,
    /// Which proposals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
    /// All open proposals of this run instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_request_id: Option<String>,
    /// Id → digest that was reviewed. Required to approve edited proposals and direct changes.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub digests: std::collections::BTreeMap<String, String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For rejections: do not propose again until it changes.
    #[serde(default)]
    pub until_change: bool,
}

/// What to do with several proposals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BatchDecision {
    /// Approve each.
    Approve,
    /// Reject each.
    Reject,
}

/// The results of a batch.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchResult {
    /// How many succeeded.
    pub done: usize,
    /// How many were refused.
    pub refused: usize,
    /// One result per proposal.
    pub results: Vec<BatchItem>,
}

/// The result for one proposal of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchItem {
    /// Which.
    pub id: String,
    /// Its status now; none if it was not found.
    #[schemars(with = "Option<Word<Status>>")]
    pub status: Option<Status>,
    /// Why it was refused.
    pub error: Option<super::ErrorBody>,
}
