//! For machines: stable JSON documents.

use std::io;

use serde_json::{Value, json};

use super::{Checked, Planned};

/// Prints a document.
pub(crate) fn document(value: &Value) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value)?;
    text.push('\n');
    super::text(&text)
}

/// Prints what `validate` found.
pub(crate) fn problems(checked: &Checked<'_>) -> io::Result<()> {
    document(&json!({
        "problems": checked.problems,
        "resources": checked.resources,
        "digest": checked.digest,
    }))
}

/// Prints a plan.
pub(crate) fn plan(planned: &Planned<'_>) -> io::Result<()> {
    let mut plan = planned.plan.to_json();
    plan["problems"] = json!(planned.problems);
    plan["from"] = json!(planned.from);
    plan["max_proposals_per_tick"] = json!(planned.cap);
    plan["remaining"] = json!(planned.remaining);
    let names: Vec<&str> = planned.provider_configs.iter().map(|config| config.name.as_str()).collect();
    plan["informational"] = json!({ "provider_configs": names });
    document(&plan)
}
