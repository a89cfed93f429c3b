//! For machines: stable JSON documents.

use std::io;

use serde_json::{Value, json};

use super::{Checked, Planned, is_unsafe};

/// Prints a document.
pub(crate) fn document(value: &Value) -> io::Result<()> {
    let mut text = escape(&serde_json::to_string_pretty(value)?);
    text.push('\n');
    super::text(&text)
}

/// JSON may hold these characters as they are, a terminal may not. Outside of texts JSON has none of them.
fn escape(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        match is_unsafe(c) {
            true => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| escaped += &format!("\\u{unit:04x}")),
            false => escaped.push(c),
        }
    }
    escaped
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_must_not_see_is_escaped_and_reads_back_the_same() {
        let value = json!({ "a\u{9b}": "\u{1b}\u{7f}\u{202e}\u{e0041}✓ é\n\t" });
        let escaped = escape(&serde_json::to_string_pretty(&value).unwrap());
        assert!(!escaped.chars().any(is_unsafe));
        assert!(escaped.contains("✓ é"));
        assert_eq!(serde_json::from_str::<Value>(&escaped).unwrap(), value);
    }
}
