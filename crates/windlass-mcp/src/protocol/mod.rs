//! The protocol over HTTP without sessions, and over standard input and output.
//!
//! The only module that uses the SDK's types. It translates and makes no decisions.

mod http;
mod stdio;

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

pub use self::http::answer;
pub use self::stdio::serve_stdio;

use crate::call::DynApiCaller;
use crate::run_tool::{ToolResult, run_tool, usable_tools};
use crate::tool::{Effect, Tool};

/// What a program that knows nothing of Windlass should know before it uses a tool.
const INSTRUCTIONS: &str = "Windlass keeps a fleet in the state that git declares. Syncing a repository proposes \
    changes; people or a policy approve them; Windlass applies approved changes. Use list and get tools to read, and sync to propose changes. Do not approve or reject unless your token permits it. The `help` of an error says how to fix it. Pass `next_cursor` as `cursor` for the next page; `left_out` lists what a result omits.";

/// The tools for one caller.
pub(crate) struct ToolServer {
    caller: Arc<dyn DynApiCaller>,
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("windlass", env!("CARGO_PKG_VERSION")).with_title("Windlass");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = usable_tools(&*self.caller).await;
        let tools = offered.map_err(|refusal| ErrorData::internal_error(refusal.message, None))?;
        Ok(ListToolsResult::with_all_items(tools.into_iter().map(to_tool_definition).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.unwrap_or_default();
        let outcome = run_tool(&*self.caller, &request.name, &given).await;
        outcome.map(to_call_result).map_err(|unknown| ErrorData::invalid_params(unknown, None))
    }
}

/// The sentence first, for people; then the full result as text, for clients that pass on nothing else; then the full
/// result as structured content.
fn to_call_result(outcome: ToolResult) -> CallToolResponse {
    let mut result = match outcome.is_error {
        true => CallToolResult::structured_error(outcome.value),
        false => CallToolResult::structured(outcome.value),
    };
    result.content.insert(0, ContentBlock::text(outcome.text));
    result.into()
}

fn to_tool_definition(tool: &Tool) -> rmcp::model::Tool {
    let hints = ToolAnnotations::new()
        .read_only(tool.effect == Effect::Reads)
        .destructive(tool.effect == Effect::Changes)
        .idempotent(tool.effect != Effect::Starts)
        .open_world(tool.effect == Effect::Starts);
    rmcp::model::Tool::new(tool.name, tool.about, tool.schema()).with_annotations(hints)
}
