//! Values and field changes as text.

use serde_json::Value;
use windlass_core::diff::FieldChange;

/// A value on one line, YAML-like, shortened to fit.
pub(super) fn inline(value: &Value, width: usize) -> String {
    let text = flow(value);
    if text.chars().count() <= width.max(8) {
        return text;
    }
    let kept: String = text.chars().take(width.max(8) - 1).collect();
    format!("{kept}…")
}

fn flow(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => scalar(text),
        Value::Array(items) => format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}: {}", flow(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

fn scalar(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.chars().all(|c| c.is_alphanumeric() || "._-@/:+% ()".contains(c))
        && !text.starts_with(' ')
        && !text.ends_with(' ');
    if is_plain { text.to_owned() } else { Value::String(text.to_owned()).to_string() }
}

/// The fields of a spec, one per line.
pub(super) fn payload_lines(payload: &Value, width: usize) -> Vec<String> {
    let Value::Object(fields) = payload else { return Vec::new() };
    fields
        .iter()
        .map(|(key, value)| format!("{key}: {}", inline(value, width.saturating_sub(key.len() + 2))))
        .collect()
}

/// A field change: lists as what is added and removed, everything else as before → after.
pub(super) fn field_text(field: &FieldChange, width: usize) -> Vec<String> {
    let path = &field.path;
    if let (Value::Array(before), Value::Array(after)) = (&field.before, &field.after)
        && let Some(lines) = list_delta(path, before, after, width)
    {
        return lines;
    }
    let half = width.saturating_sub(path.len() + 5) / 2;
    let (before, after) = (inline(&field.before, half), inline(&field.after, half));
    let is_same_when_shortened = before == after;
    let note = if is_same_when_shortened { " (differs)" } else { "" };
    vec![format!("{path}: {before} → {after}{note}")]
}

/// What a list gains and loses; nothing if only its order changes.
fn list_delta(path: &str, before: &[Value], after: &[Value], width: usize) -> Option<Vec<String>> {
    let missing_in = |list: &[Value], other: &[Value]| -> Vec<String> {
        list.iter().filter(|item| !other.contains(item)).map(|item| inline(item, width / 2)).collect()
    };
    let (removed, added) = (missing_in(before, after), missing_in(after, before));
    if removed.is_empty() && added.is_empty() {
        return None;
    }
    let line = |sign: &str, items: Vec<String>| {
        (!items.is_empty()).then(|| {
            format!(
                "{path}: {}",
                items.iter().map(|item| format!("{sign}{item}")).collect::<Vec<_>>().join(" ")
            )
        })
    };
    Some(line("-", removed).into_iter().chain(line("+", added)).collect())
}
