//! The events of an account.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::summary;
use crate::tool::{ToolReply, ToolRequest};

const FIELDS: &[&str] = &[
    "seq",
    "kind",
    "severity",
    "resource_kind",
    "resource_name",
    "repository_id",
    "correlation_id",
    "source",
    "message",
    "at",
];

/// Arguments of the list, newest first.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct List {
    /// Of this kind, for example `gitops.drift_detected`; `gitops.` for all kinds with that prefix.
    kind: Option<String>,
    /// Of this severity: `low`, `medium`, `high` or `critical`.
    severity: Option<String>,
    /// Of this sync run.
    sync_run_id: Option<String>,
    /// About this repository, by id or name.
    repository_id: Option<String>,
    /// About this resource: `kind/name`.
    resource: Option<String>,
    /// Text in the message.
    q: Option<String>,
    /// Events after this number, oldest first.
    after: Option<u64>,
    /// The page size, 1 to 500; default 50.
    #[schemars(range(min = 1, max = 500))]
    limit: Option<usize>,
    /// The previous page's `next_cursor`.
    cursor: Option<String>,
}

impl ToolRequest for List {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let call = ApiCallSpec::new(Operation::EventList)
            .query("kind", self.kind.as_ref())
            .query("severity", self.severity.as_ref())
            .query("run", self.sync_run_id.as_ref())
            .query("repository", self.repository_id.as_ref())
            .query("resource", self.resource.as_ref())
            .query("q", self.q.as_ref())
            .query("after", self.after.as_ref());
        Ok(vec![call.query("limit", self.limit.as_ref()).query("cursor", self.cursor.as_ref())])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let value = summary::page(&answer, "fleet_events", "fleet_events", |event| {
            summary::select_fields(event, FIELDS)
        });
        ToolReply { text: summary::count(&value, "fleet_events", "event", "events"), value }
    }
}
