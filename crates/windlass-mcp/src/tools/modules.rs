//! The versions of a module.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use windlass_api::endpoint::Operation;

use crate::call::ApiCallSpec;
use crate::refusal::CallError;
use crate::summary::{self, SummaryBuilder, text};
use crate::tool::{ToolReply, ToolRequest};

const REST: &str = "`windlass module versions` shows all";

/// Arguments of the list of a module's versions.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct Versions {
    /// The module, by id or name.
    module: String,
}

impl ToolRequest for Versions {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![ApiCallSpec::about(Operation::ModuleVersionList, &self.module)?])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        let versions = answer.get("versions").and_then(Value::as_array).map_or(0, Vec::len);
        let module = text(&answer, "module");
        let brief = SummaryBuilder::new(summary::select_fields(&answer, &["module", "versions"]));
        let brief = brief.cut("versions", REST);
        ToolReply { text: format!("{module}: {versions} versions"), value: Value::Object(brief.build()) }
    }
}
