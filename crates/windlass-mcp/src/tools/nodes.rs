//! Nodes as their agents see them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::summary::{self, SummaryBuilder};
use crate::tool::{ToolReply, ToolRequest};

const FIELDS: &[&str] = &[
    "id",
    "name",
    "state",
    "summary",
    "reason",
    "as_of",
    "template",
    "region",
    "labels",
    "assigned_generation",
    "reached_generation",
    "drifted_items",
    "accepted_items",
];

const DETAILS: &[&str] = &["modules", "host", "agent", "events_dropped"];

const DRIFT_FIELDS: &[&str] = &["node", "state", "reason", "as_of", "items", "left_out"];

const REST: &str = "`windlass node drift` shows all";

/// Arguments of the list, by name.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// Statuses, separated by commas: `converged`, `applying`, `drifted`, `failed`, `offline`, `unknown`.
    state: Option<String>,
    /// Of this template.
    template: Option<String>,
    /// In this region.
    region: Option<String>,
    /// With this label: `key=value`, or `key` for any value.
    label: Option<String>,
    /// Text in the name.
    q: Option<String>,
    /// The page size, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The previous page's `next_cursor`.
    cursor: Option<String>,
}

impl ToolRequest for List {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let call = ApiCallSpec::new(Operation::NodeStatusList)
            .query("state", self.state.as_ref())
            .query("template", self.template.as_ref())
            .query("region", self.region.as_ref())
            .query("label", self.label.as_ref())
            .query("q", self.q.as_ref());
        Ok(vec![call.query("limit", self.limit.as_ref()).query("cursor", self.cursor.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let value = summary::page(&answer, "nodes", "nodes", |node| summary::select_fields(node, FIELDS));
        ToolReply { text: summary::count(&value, "nodes", "node", "nodes"), value }
    }
}

/// Arguments of the status of one node.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Get {
    /// The node, by id or name.
    node: String,
}

impl ToolRequest for Get {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![ApiCallSpec::about(Operation::NodeStatusShow, &self.node)?])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let text = |key: &str| answer.get(key).and_then(Value::as_str).unwrap_or_default();
        let text = format!("{}: {}", text("name"), text("reason"));
        let fields: Vec<&str> = FIELDS.iter().chain(DETAILS).copied().collect();
        let brief = SummaryBuilder::new(summary::select_fields(&answer, &fields)).cut("modules", REST);
        ToolReply { text, value: Value::Object(brief.build()) }
    }
}

/// Arguments of the drift of one node.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Drift {
    /// The node, by id or name.
    node: String,
}

impl ToolRequest for Drift {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![ApiCallSpec::about(Operation::NodeDriftShow, &self.node)?])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let text = answer.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
        let brief = SummaryBuilder::new(summary::select_fields(&answer, DRIFT_FIELDS));
        let brief = brief.bound(Some("items"), &["fields"], REST).cut("items", REST);
        ToolReply { text, value: Value::Object(brief.build()) }
    }
}
