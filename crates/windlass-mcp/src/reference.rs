//! The generated page of tools.

use std::fmt::Write as _;

use serde_json::Value;
use windlass_api::endpoint::Access;

use crate::table::tools;
use crate::tool::Tool;

/// docs/reference/mcp.md.
pub fn tools_page() -> String {
    let mut page = String::from(
        "# MCP tools\n\nGenerated from the table of tools. How to connect a client: [MCP](../guide/mcp.md).\n\n\
         | Tool | Effect | Permission | REST |\n|---|---|---|---|\n",
    );
    for tool in tools() {
        let endpoint = tool.operation.endpoint();
        let _ = writeln!(
            page,
            "| [`{0}`](#{0}) | {1} | `{2}` | `{3} {4}` |",
            tool.name,
            tool.effect.word(),
            permission(tool),
            endpoint.method.as_str(),
            endpoint.path,
        );
    }
    tools().iter().for_each(|tool| write_tool(&mut page, tool));
    page
}

fn permission(tool: &Tool) -> String {
    match tool.operation.endpoint().access {
        Access::Needs(permission) => permission.to_string(),
        Access::Public | Access::SignedIn => "none".to_owned(),
        Access::Root => "root".to_owned(),
        Access::Agent => "agent".to_owned(),
    }
}

fn write_tool(page: &mut String, tool: &Tool) {
    let _ = write!(page, "\n## {}\n\n{}\n", tool.name, tool.about);
    let schema = tool.schema();
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(properties)) = schema.get("properties") else { return };
    if properties.is_empty() {
        return;
    }
    let _ = write!(page, "\n| Argument | | |\n|---|---|---|\n");
    for (name, about) in properties {
        let needed = if required.iter().any(|word| word == name) { "required" } else { "" };
        let text = about.get("description").and_then(Value::as_str).unwrap_or_default();
        let text = text.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(page, "| `{name}` | {needed} | {text} |");
    }
}
