//! Proposals: reading, approving, rejecting and applying them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{ApproveBody, RejectBody};

use crate::call::ApiCallSpec;
use crate::refusal::{CallError, refusal};
use crate::summary::{self, SummaryBuilder, text};
use crate::tool::{ToolReply, ToolRequest};

/// The fields of a proposal in a list.
const LIST_FIELDS: &[&str] = &[
    "id",
    "repository_name",
    "run_id",
    "action",
    "kind",
    "name",
    "change",
    "explanation",
    "status",
    "blocked_by",
    "blocked_by_kinds",
    "reason",
    "digest",
    "opened_at",
    "expires_at",
    "closed_at",
];

/// The fields of a single proposal.
const SHOWN_FIELDS: &[&str] = &[
    "id",
    "repository_id",
    "repository_name",
    "run_id",
    "action",
    "kind",
    "name",
    "change",
    "cause",
    "explanation",
    "payload",
    "current",
    "desired",
    "fields",
    "content",
    "edited_payload",
    "edited_by",
    "digest",
    "commit_sha",
    "author",
    "contributors_gap",
    "file",
    "line",
    "status",
    "blocked_by",
    "blocked_by_kinds",
    "waits_for",
    "gate",
    "approvals",
    "reason",
    "decided_by",
    "opened_at",
    "expires_at",
    "decided_at",
    "closed_at",
];

/// Approving an approved proposal again is not an error for a caller that wants it applied.
const NOT_OPEN_CODE: &str = "not-open";

/// Arguments of the list.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// `open`, or statuses joined by commas: `pending_approval`, `approved`, `applied`, `failed`, `rejected`, …
    status: Option<String>,
    /// Only of this sync run.
    sync_run_id: Option<String>,
    /// Only of this repository, by id or name.
    repository_id: Option<String>,
    /// Only about this kind of resource, for example `node`.
    kind: Option<String>,
    /// Only `create`, `update` or `destroy`.
    change: Option<String>,
    /// Only about the resource with this name.
    name: Option<String>,
    /// Text in the resource's name.
    q: Option<String>,
    /// The page size, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The previous page's `next_cursor`.
    cursor: Option<String>,
}

impl ToolRequest for List {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let call = ApiCallSpec::new(Operation::ProposalList)
            .query("status", self.status.as_ref())
            .query("run", self.sync_run_id.as_ref())
            .query("repository", self.repository_id.as_ref())
            .query("kind", self.kind.as_ref())
            .query("change", self.change.as_ref())
            .query("name", self.name.as_ref())
            .query("q", self.q.as_ref());
        Ok(vec![call.query("limit", self.limit.as_ref()).query("cursor", self.cursor.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let value = summary::page(&answer, "proposals", "proposals", |found| {
            summary::select_fields(found, LIST_FIELDS)
        });
        ToolReply { text: summary::count(&value, "proposals", "proposal", "proposals"), value }
    }
}

/// Arguments for reading one proposal.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Get {
    /// The proposal's id.
    proposal_id: String,
}

impl ToolRequest for Get {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![ApiCallSpec::about(Operation::ProposalShow, &self.proposal_id)?])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        proposal_reply(&answer)
    }
}

/// Arguments of an approval.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Approve {
    /// The proposal's id.
    proposal_id: String,
    /// The digest that was reviewed. If the proposal has changed since, nothing is approved. Required for edited
    /// proposals and direct changes.
    digest: Option<String>,
    /// The reason, recorded in the audit log.
    reason: Option<String>,
}

impl ToolRequest for Approve {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![approve_call(&self.proposal_id, self.digest.as_ref(), self.reason.as_ref())?])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        proposal_reply(&answer)
    }
}

/// Arguments of a rejection.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Reject {
    /// The proposal's id.
    proposal_id: String,
    /// The reason, recorded in the audit log.
    reason: Option<String>,
    /// Do not propose again until git or the accepted state changes. Otherwise the next sync proposes it again.
    until_change: Option<bool>,
}

impl ToolRequest for Reject {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let body =
            RejectBody { reason: self.reason.clone(), until_change: self.until_change.unwrap_or_default() };
        Ok(vec![ApiCallSpec::about(Operation::ProposalReject, &self.proposal_id)?.body(&body)])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        proposal_reply(&answer)
    }
}

/// Arguments for applying a proposal, with approval first on request.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Apply {
    /// The proposal's id.
    proposal_id: String,
    /// Approve it first, if it is pending approval. Default no: apply only if it is already approved.
    approve: Option<bool>,
    /// With `approve`: the digest that was reviewed. If the proposal has changed since, nothing is approved. Required
    /// for edited proposals and direct changes.
    digest: Option<String>,
    /// With `approve`: the reason, recorded in the audit log.
    reason: Option<String>,
    /// Seconds to wait for the result, 0 to 60. Default 10.
    #[schemars(range(max = 60))]
    wait_seconds: Option<u64>,
}

impl ToolRequest for Apply {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let apply = ApiCallSpec::about(Operation::ProposalApply, &self.proposal_id)?;
        let apply = apply.query("wait", self.wait_seconds.as_ref());
        if !self.approve.unwrap_or_default() {
            return match (&self.digest, &self.reason) {
                (None, None) => Ok(vec![apply]),
                _ => {
                    let message = "digest and reason are only for approvals";
                    Err(refusal("bad-argument", message, "add `approve: true`, or omit them"))
                }
            };
        }
        let approve = approve_call(&self.proposal_id, self.digest.as_ref(), self.reason.as_ref())?;
        Ok(vec![ApiCallSpec { tolerates: Some(NOT_OPEN_CODE), ..approve }, apply])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        proposal_reply(&answer)
    }
}

fn approve_call(
    id: &str,
    digest: Option<&String>,
    reason: Option<&String>,
) -> Result<ApiCallSpec, CallError> {
    let body = ApproveBody { digest: digest.cloned(), reason: reason.cloned() };
    Ok(ApiCallSpec::about(Operation::ProposalApprove, id)?.body(&body))
}

fn proposal_reply(answer: &Value) -> ToolReply {
    let proposal = answer.get("proposal").unwrap_or(answer);
    let rest = "`windlass proposal show` and the web app show all";
    let brief = SummaryBuilder::new(summary::select_fields(proposal, SHOWN_FIELDS))
        .bound(None, &["payload", "current", "desired", "edited_payload", "fields", "content"], rest)
        .build();
    let waits = proposal.get("blocked_by").and_then(Value::as_array).and_then(|reasons| reasons.first());
    let waits =
        waits.and_then(Value::as_str).map(|reason| format!("; blocked: {reason}")).unwrap_or_default();
    let text = format!(
        "{} {}: {}{waits}",
        text(proposal, "action"),
        text(proposal, "name"),
        text(proposal, "status")
    );
    ToolReply { text, value: json!({ "proposal": brief }) }
}
