//! Sync runs: starting, reading and listing them, and approving sets of their plans.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_api::endpoint::Operation;
use windlass_api::types::{ApproveSetBody, SyncBody};

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::summary::{self, SummaryBuilder, text};
use crate::tool::{ToolReply, ToolRequest};

/// The fields of a run in a list.
const LIST_FIELDS: &[&str] = &[
    "id",
    "repository_id",
    "repository_name",
    "status",
    "stage",
    "waiting_for",
    "trigger",
    "commit_sha",
    "diff_count",
    "remaining",
    "requires_approval",
    "error",
    "created_at",
    "completed_at",
];

/// The fields of a single run.
const SHOWN_FIELDS: &[&str] = &[
    "id",
    "repository_id",
    "repository_name",
    "status",
    "stage",
    "waiting_for",
    "trigger",
    "commit_sha",
    "commit_author",
    "commit_subject",
    "diff",
    "diff_count",
    "remaining",
    "requires_approval",
    "approval_request_id",
    "plan_digest",
    "sets",
    "proposals",
    "applied_actions",
    "failed_actions",
    "skipped_actions",
    "drift_after_apply",
    "problems",
    "error",
    "created_at",
    "completed_at",
    "applied_at",
];

const REST_OF_PROPOSALS: &str = "system_gitops_list_proposals with this sync_run_id lists the rest";

/// Arguments of a sync.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Sync {
    /// The repository, by id or name.
    repository_id: String,
    /// Confirms that the sync may destroy most of what the repository owns. Needs a token that may approve.
    confirm_mass_destroy: Option<bool>,
    /// The only commit that the confirmation covers, from a run's `commit_sha`. Default: the commit of the newest
    /// stopped run.
    commit: Option<String>,
    /// Seconds to wait for the comparison, 0 to 60. Default 0: poll with `system_gitops_get_sync_run`.
    #[schemars(range(max = 60))]
    wait_seconds: Option<u64>,
}

impl ToolRequest for Sync {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let confirm_mass_destroy = self.confirm_mass_destroy.unwrap_or_default();
        let body = SyncBody { confirm_mass_destroy, commit: self.commit.clone() };
        let call = ApiCallSpec::about(Operation::RepositorySync, &self.repository_id)?.body(&body);
        let call = if confirm_mass_destroy { call.consent() } else { call };
        Ok(vec![call.query("wait", self.wait_seconds.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let run = run_of(&answer);
        let text = format!("sync run {}: {}", text(run, "id"), text(run, "status"));
        ToolReply { text, value: json!({ "sync_run": summary::select_fields(run, LIST_FIELDS) }) }
    }
}

/// Arguments for approving a set of a run's plan.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ApproveSet {
    /// The sync run's id.
    sync_run_id: String,
    /// The digest of the set that was reviewed, from the run's `sets`. If the plan has changed since, nothing is
    /// approved.
    digest: String,
    /// Confirms the set's destroys. Required if it has any.
    include_destroys: Option<bool>,
    /// The reason, recorded in the audit log.
    reason: Option<String>,
}

impl ToolRequest for ApproveSet {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let body = ApproveSetBody {
            digest: self.digest.clone(),
            include_destroys: self.include_destroys.unwrap_or_default(),
            reason: self.reason.clone(),
        };
        Ok(vec![ApiCallSpec::about(Operation::RunApprove, &self.sync_run_id)?.body(&body)])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let text = format!("{} changes approved together", answer.get("count").unwrap_or(&Value::Null));
        ToolReply { text, value: answer }
    }
}

/// Arguments for reading one run.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Get {
    /// The sync run's id.
    sync_run_id: String,
    /// Seconds to wait for the comparison, 0 to 60. Default 0.
    #[schemars(range(max = 60))]
    wait_seconds: Option<u64>,
}

impl ToolRequest for Get {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let call = ApiCallSpec::about(Operation::RunShow, &self.sync_run_id)?;
        Ok(vec![call.query("wait", self.wait_seconds.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let run = run_of(&answer);
        let mut fields = summary::select_fields(run, SHOWN_FIELDS);
        for actions in ["applied_actions", "failed_actions", "skipped_actions"] {
            fields.entry(actions).or_insert_with(|| json!([]));
        }
        let value = SummaryBuilder::new(fields)
            .cut("proposals", REST_OF_PROPOSALS)
            .bound(Some("proposals"), &["payload"], "system_gitops_get_proposal shows one")
            .cut_names("diff", REST_OF_PROPOSALS)
            .cut_names("drift_after_apply", "system_gitops_get_drift_report shows more")
            .cut("applied_actions", REST_OF_PROPOSALS)
            .cut("failed_actions", REST_OF_PROPOSALS)
            .cut("skipped_actions", REST_OF_PROPOSALS)
            .cut("sets", "the run's page in the web app shows all")
            .cut("problems", "fix these first; `windlass validate` reports all")
            .build();
        ToolReply { text: run_sentence(run), value: Value::Object(value) }
    }
}

fn run_sentence(run: &Value) -> String {
    let count = run.get("diff_count").and_then(Value::as_u64).unwrap_or_default();
    let differs = if count == 1 { "1 difference".to_owned() } else { format!("{count} differences") };
    let reason = run.pointer("/error/message").and_then(Value::as_str);
    let reason = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    let decide = match run.get("requires_approval").and_then(Value::as_bool) {
        Some(true) => "; its proposals need review",
        _ => "",
    };
    format!("sync run {}: {}{reason}, {differs}{decide}", text(run, "id"), text(run, "status"))
}

/// Arguments of the list.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// Only of this repository, by id or name.
    repository_id: Option<String>,
    /// The page size, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The previous page's `next_cursor`.
    cursor: Option<String>,
}

impl ToolRequest for List {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let call = ApiCallSpec::new(Operation::RunList).query("repository", self.repository_id.as_ref());
        Ok(vec![call.query("limit", self.limit.as_ref()).query("cursor", self.cursor.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let head = |run: &Value| -> Map<String, Value> { summary::select_fields(run, LIST_FIELDS) };
        let value = summary::page(&answer, "sync_runs", "sync_runs", head);
        ToolReply { text: summary::count(&value, "sync_runs", "sync run", "sync runs"), value }
    }
}

fn run_of(answer: &Value) -> &Value {
    answer.get("sync_run").unwrap_or(answer)
}
