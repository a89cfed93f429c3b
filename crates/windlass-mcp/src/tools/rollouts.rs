//! Rollouts: listing and reading them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::summary::{self, SummaryBuilder, text};
use crate::tool::{ToolReply, ToolRequest};

/// The fields of a rollout.
const FIELDS: &[&str] = &[
    "id",
    "governed_kind",
    "governed_name",
    "status",
    "reason",
    "counts",
    "max_unavailable",
    "failure_threshold",
    "pause",
    "offline",
    "proposals",
    "actions",
    "started_at",
    "updated_at",
    "ended_at",
];

/// Arguments of the list.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// Only in these states, separated by commas: `running`, `paused`, `stopped`, `promoted`, `completed`, `aborted`,
    /// `superseded`; `open` for all that are not over.
    status: Option<String>,
    /// Only those that reach this node.
    node: Option<String>,
    /// The page size, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The previous page's `next_cursor`.
    cursor: Option<String>,
}

impl ToolRequest for List {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let call = ApiCallSpec::new(Operation::RolloutList)
            .query("status", self.status.as_ref())
            .query("node", self.node.as_ref());
        Ok(vec![call.query("limit", self.limit.as_ref()).query("cursor", self.cursor.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let fields = |rollout: &Value| -> Map<String, Value> { summary::select_fields(rollout, FIELDS) };
        let value = summary::page(&answer, "rollouts", "rollouts", fields);
        ToolReply { text: summary::count(&value, "rollouts", "rollout", "rollouts"), value }
    }
}

/// Arguments for reading one rollout.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Get {
    /// The rollout's id.
    rollout_id: String,
    /// The states of the nodes to list, separated by commas: `waiting`, `applying`, `offline`, `failed`, `converged`,
    /// `left`; `all` for every node. Default: `failed`.
    nodes: Option<String>,
}

impl ToolRequest for Get {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let call = ApiCallSpec::about(Operation::RolloutShow, &self.rollout_id)?;
        Ok(vec![call.query("nodes", self.nodes.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let rollout = answer.get("rollout").unwrap_or(&answer);
        let reason = match rollout.get("reason").and_then(Value::as_str) {
            Some(reason) => format!(": {reason}"),
            None => String::new(),
        };
        let text = format!("rollout {}: {}{reason}", text(rollout, "id"), text(rollout, "status"));
        let mut value = summary::select_fields(rollout, FIELDS);
        value.extend(summary::select_fields(&answer, &["waves", "nodes", "nodes_left_out"]));
        let value = SummaryBuilder::new(value)
            .cut("waves", "the rollout's page in the web app shows all")
            .cut("nodes", "ask for the nodes in one state, or see the rollout's page in the web app")
            .build();
        ToolReply { text, value: Value::Object(value) }
    }
}
