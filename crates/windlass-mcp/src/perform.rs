//! Using a tool: arguments → calls → what is told. All that is decided was decided elsewhere.

use serde_json::{Map, Value, json};
use windlass_core::shape::nearest;

use crate::call::Caller;
use crate::refusal::Refusal;
use crate::table::{find, tools};
use crate::tool::{Told, Tool};
use crate::who::{can_ever, decides, may_decide};

/// What came of using a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// In one sentence.
    pub text: String,
    /// The whole of it: an object.
    pub value: Value,
    /// Whether it is why nothing, or not all, was done.
    pub is_error: bool,
}

impl From<Told> for Outcome {
    fn from(told: Told) -> Outcome {
        Outcome { text: told.text, value: told.value, is_error: false }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Outcome {
        let help = if refusal.help.is_empty() { String::new() } else { format!(" — {}", refusal.help) };
        let text = format!("{}: {}{help}", refusal.code, refusal.message);
        Outcome { text, value: json!({ "error": refusal }), is_error: true }
    }
}

/// Uses the tool of this name; fails, with what to say, only if there is none.
pub async fn perform(
    caller: &impl Caller,
    name: &str,
    given: &Map<String, Value>,
) -> Result<Outcome, String> {
    let Some(tool) = find(name) else {
        let near = nearest(name, tools().iter().map(|tool| tool.name));
        let help = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
        let name: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
        return Err(format!("there is no tool `{name}`{help}"));
    };
    let done = use_tool(caller, tool, given).await;
    Ok(done.map_or_else(Outcome::from, Outcome::from))
}

async fn use_tool(caller: &impl Caller, tool: &Tool, given: &Map<String, Value>) -> Result<Told, Refusal> {
    let asked = tool.read(given)?;
    let mut answer = Value::Null;
    for call in asked.calls()? {
        if (decides(call.operation) || call.is_consent)
            && let Err(refusal) = may_decide(&caller.who().await?)
        {
            caller.refused(&call, &refusal).await;
            return Err(refusal);
        }
        answer = match caller.call(&call).await {
            Err(refusal) if call.tolerates != Some(refusal.code.as_str()) => return Err(refusal),
            Err(_) => Value::Null,
            Ok(answer) => answer,
        };
    }
    Ok(asked.tell(answer))
}

/// The tools that someone can ever use.
pub(crate) async fn offered(caller: &impl Caller) -> Result<Vec<&'static Tool>, Refusal> {
    let who = caller.who().await?;
    Ok(tools().iter().filter(|tool| can_ever(&who, tool.operation)).collect())
}
