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
    /// The repository's name, or whose direct change it is.
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
    /// The accepted state now, with defaults; null for a create.
    pub current: Option<Value>,
    /// What it would be, with defaults; null for a destroy.
    pub desired: Option<Value>,
    /// The fields that differ, for an update.
    pub fields: Vec<FieldChange>,
    /// What differs in the files that it names. A list of proposals shows as much as fits; one by itself shows all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub content: Vec<ContentDifference>,
    /// What someone made of it before approval.
    pub edited_payload: Option<Value>,
    /// Who did.
    pub edited_by: Option<String>,
    /// What an approval binds to: send it back when approving to be sure nothing moved.
    pub digest: String,
    /// The digest of the accepted state.
    pub base_digest: Option<String>,
    /// The digest of what git wants.
    pub desired_digest: Option<String>,
    /// The commit.
    pub commit_sha: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// Everyone who had a hand in it; where a rule says `not_author`, none of them can approve it.
    #[serde(default)]
    pub contributors: Vec<ContributorInfo>,
    /// Why someone may be missing among them; where a rule says `not_author`, it needs one approval more then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contributors_gap: Option<String>,
    /// Of a direct change: why it is made.
    #[serde(default)]
    pub direct_reason: Option<String>,
    /// The file that declares the resource, and the line.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<usize>,
    /// Where it is in its life.
    #[schemars(with = "Word<Status>")]
    pub status: Status,
    /// What it waits for beside approval.
    pub blocked_by: Vec<String>,
    /// What each of these is about, in the same order.
    #[serde(default)]
    #[schemars(with = "Vec<Word<BlockedByKind>>")]
    pub blocked_by_kinds: Vec<BlockedByKind>,
    /// Changes of the same plan that come first.
    pub waits_for: Vec<String>,
    /// What the policy asks for.
    pub gate: Option<GateInfo>,
    /// Who approved what.
    pub approvals: Vec<ApprovalInfo>,
    /// Why it is where it is.
    pub reason: Option<String>,
    /// Who or what decided.
    pub decided_by: Option<String>,
    /// Its place in the order.
    pub position: usize,
    /// When it was opened.
    pub opened_at: String,
    /// When it expires if nobody decides.
    pub expires_at: String,
    /// When someone decided.
    pub decided_at: Option<String>,
    /// When it was closed.
    pub closed_at: Option<String>,
    /// For `If-Match`.
    pub version: i64,
}

/// Someone who had a hand in a change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ContributorInfo {
    /// How.
    #[schemars(with = "Word<ContributorRole>")]
    pub role: ContributorRole,
    /// Their e-mail address; a forge's login where it tells no address.
    pub person: String,
}

/// A direct change that was not made yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingChange {
    /// What it waits as.
    pub proposal: ProposalInfo,
    /// What it waits for, in words.
    pub message: String,
}

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FieldChange {
    /// Which.
    pub path: String,
    /// What it is.
    pub before: Value,
    /// What it would be.
    pub after: Value,
}

impl From<windlass_core::diff::FieldChange> for FieldChange {
    fn from(field: windlass_core::diff::FieldChange) -> FieldChange {
        let windlass_core::diff::FieldChange { path, before, after } = field;
        FieldChange { path, before, after }
    }
}

/// What the policy asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GateInfo {
    /// The rule that matched; none for the default.
    pub rule: Option<String>,
    /// Whether it was agreed to.
    #[schemars(with = "Word<ConsentState>")]
    pub consent: ConsentState,
    /// Approvals that count.
    pub have: usize,
    /// Approvals that are needed.
    pub need: usize,
    /// In words.
    pub reasons: Vec<String>,
    /// Why it may not be applied right now although it is approved.
    pub holds: Vec<String>,
    /// Why you cannot approve it; none if you can.
    pub why_not_you: Option<String>,
}

/// Someone's consent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ApprovalInfo {
    /// Who.
    pub approver: String,
    /// To which content.
    pub digest: String,
    /// Whether it counts: that is still what would be applied, and they may still approve it.
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
    /// Where the list goes on.
    pub meta: super::PageMeta,
}

/// An approval.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApproveBody {
    /// The digest that was reviewed. If the proposal is another by now, nothing is approved. Needed for a proposal that
    /// someone edited and for a direct change.
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
    /// Not to be offered again before git or the accepted state changes. Otherwise the next sync offers it again.
    #[serde(default)]
    pub until_change: bool,
}

/// What to apply instead.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EditBody {
    /// The whole spec, as in `payload`; null takes an edit back.
    pub payload: Value,
}

/// Decisions about several proposals, each by itself.
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
    /// Id → digest that was reviewed. Without it, proposals that someone edited and direct changes are not approved.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub digests: std::collections::BTreeMap<String, String>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// For rejections: not to be offered again before it changes.
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

/// What became of each.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct BatchResult {
    /// How many were decided as asked.
    pub done: usize,
    /// How many were not.
    pub refused: usize,
    /// Each by itself.
    pub results: Vec<BatchItem>,
}

/// What became of one proposal of a batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BatchItem {
    /// Which.
    pub id: String,
    /// Where it is in its life now; none if it could not be found.
    #[schemars(with = "Option<Word<Status>>")]
    pub status: Option<Status>,
    /// Why it was not decided as asked.
    pub error: Option<super::ErrorBody>,
}
