//! Writes values as YAML on one line, whatever their texts contain.
//!
//! JSON is almost valid for that; YAML does not allow raw control characters, nor long keys without a question mark.

use serde_json::Value;

/// Longer keys get a question mark: escapes count towards YAML's limit of 1,024 characters.
const UNMARKED_KEY: usize = 100;

/// The value as a YAML flow collection.
pub(crate) fn flow(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(",")),
        Value::Object(entries) => {
            let entries: Vec<String> = entries.iter().map(|(key, value)| entry(key, value)).collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::String(text) => quoted(text),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    }
}

fn entry(key: &str, value: &Value) -> String {
    let mark = if key.len() > UNMARKED_KEY { "? " } else { "" };
    format!("{mark}{}:{}", quoted(key), flow(value))
}

fn quoted(text: &str) -> String {
    let mut written = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            '\u{7f}'..='\u{a0}' | '\u{2000}'..='\u{20ff}' | '\u{fe00}'..='\u{ffff}' | '\0'..='\u{1f}' => {
                written.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            _ => written.push(c),
        }
    }
    written.push('"');
    written
}
