//! The drift of a repository: manual changes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::summary::{self, SummaryBuilder};
use crate::tool::{ToolReply, ToolRequest};

const FIELDS: &[&str] =
    &["drift", "repository_id", "commit_sha", "compared_with", "drifted", "pending", "accepted"];

const REST: &str = "`windlass drift` shows all";

/// Arguments of the drift report.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Report {
    /// The repository, by id or name.
    repository_id: String,
}

impl ToolRequest for Report {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![ApiCallSpec::about(Operation::DriftReport, &self.repository_id)?])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let number = |key: &str| answer.get(key).and_then(Value::as_array).map_or(0, Vec::len);
        let text = match answer.get("drift").and_then(Value::as_bool) {
            Some(true) => format!("drift: {} changed directly", number("drifted")),
            _ if number("pending") > 0 => format!("no drift; {} pending", number("pending")),
            _ => "no drift".to_owned(),
        };
        let mut brief = SummaryBuilder::new(summary::select_fields(&answer, FIELDS));
        for list in ["drifted", "pending", "accepted"] {
            brief = brief.bound(Some(list), &["fields"], REST).cut(list, REST);
        }
        ToolReply { text, value: Value::Object(brief.build()) }
    }
}
