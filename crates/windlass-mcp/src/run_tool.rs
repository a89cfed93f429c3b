//! Runs a tool: arguments → calls → reply. Makes no decisions of its own.

use serde_json::{Map, Value, json};
use windlass_core::shape::nearest;

use crate::call::DynApiCaller;
use crate::caller::{is_decision, is_ever_allowed, may_decide};
use crate::refusal::CallError;
use crate::table::{find, tools};
use crate::tool::{Tool, ToolReply};

/// The result of running a tool.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ToolResult {
    /// One sentence.
    pub text: String,
    /// The full result: an object.
    pub value: Value,
    /// Whether something failed or was refused.
    pub is_error: bool,
}

impl From<ToolReply> for ToolResult {
    fn from(reply: ToolReply) -> ToolResult {
        ToolResult { text: reply.text, value: reply.value, is_error: false }
    }
}

impl From<CallError> for ToolResult {
    fn from(refusal: CallError) -> ToolResult {
        let help = if refusal.help.is_empty() { String::new() } else { format!(" — {}", refusal.help) };
        let text = format!("{}: {}{help}", refusal.code, refusal.message);
        ToolResult { text, value: json!({ "error": refusal }), is_error: true }
    }
}

/// Runs the tool with this name; the error says that there is no such tool.
pub(crate) async fn run_tool(
    caller: &dyn DynApiCaller,
    name: &str,
    given: &Map<String, Value>,
) -> Result<ToolResult, String> {
    let Some(tool) = find(name) else {
        let near = nearest(name, tools().iter().map(|tool| tool.name));
        let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        return Err(format!("unknown tool `{name}`{help}"));
    };
    let result = call_tool(caller, tool, given).await;
    Ok(result.map_or_else(ToolResult::from, ToolResult::from))
}

async fn call_tool(
    caller: &dyn DynApiCaller,
    tool: &Tool,
    given: &Map<String, Value>,
) -> Result<ToolReply, CallError> {
    let request = tool.read(given)?;
    let mut answer = Value::Null;
    for call in request.calls()? {
        if (is_decision(call.operation) || call.is_decision_call)
            && let Err(refusal) = may_decide(&caller.identify().await?)
        {
            caller.record_refusal(&call, &refusal).await;
            return Err(refusal);
        }
        answer = match caller.call(&call).await {
            Err(refusal) if call.tolerates != Some(refusal.code.as_str()) => return Err(refusal),
            Err(_) => Value::Null,
            Ok(answer) => answer,
        };
    }
    Ok(request.reply(answer))
}

/// The tools that a user can ever use.
pub(crate) async fn usable_tools(caller: &dyn DynApiCaller) -> Result<Vec<&'static Tool>, CallError> {
    let caller = caller.identify().await?;
    Ok(tools().iter().filter(|tool| is_ever_allowed(&caller, tool.operation)).collect())
}
