//! Values and field changes as text. Nothing is cut: an approver must be able to read everything.

use serde_json::Value;

use crate::diff::FieldChange;
use crate::line_diff;

/// A value on one line, YAML-like.
fn inline(value: &Value) -> String {
    match value {
        Value::Null => "not set".to_owned(),
        Value::String(text) => scalar(text),
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}: {}", inline(value))).collect();
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

fn fits(text: &str, width: usize) -> bool {
    text.chars().count() <= width
}

/// The fields of a spec: on one line if they fit, otherwise on several.
pub fn payload_lines(payload: &Value, width: usize) -> Vec<String> {
    let Value::Object(fields) = payload else { return Vec::new() };
    fields.iter().flat_map(|(key, value)| entry_lines(key, value, width)).collect()
}

/// The fields that are set: lists and values that are empty say nothing.
pub fn set_fields(fields: &Value) -> Value {
    let is_set = |value: &Value| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(map) => !map.is_empty(),
        Value::Bool(_) | Value::Number(_) => true,
    };
    match fields {
        Value::Object(map) => {
            let kept = map.iter().filter(|(_, value)| is_set(value));
            Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
        }
        other => other.clone(),
    }
}

fn entry_lines(key: &str, value: &Value, width: usize) -> Vec<String> {
    let line = format!("{key}: {}", inline(value));
    let body = match value {
        Value::String(text) if text.trim_end().contains('\n') => text_lines(text),
        _ if fits(&line, width) => return vec![line],
        Value::Object(_) => payload_lines(value, width.saturating_sub(2)),
        Value::Array(items) => {
            items.iter().flat_map(|item| item_lines(item, width.saturating_sub(2))).collect()
        }
        _ => return vec![line],
    };
    let head = if value.is_string() { format!("{key}: |") } else { format!("{key}:") };
    std::iter::once(head).chain(body.into_iter().map(|line| format!("  {line}"))).collect()
}

fn item_lines(item: &Value, width: usize) -> Vec<String> {
    let line = inline(item);
    if fits(&line, width) || !item.is_object() {
        return vec![format!("- {line}")];
    }
    let lines = payload_lines(item, width.saturating_sub(2)).into_iter().enumerate();
    lines.map(|(index, line)| format!("{}{line}", if index == 0 { "- " } else { "  " })).collect()
}

fn text_lines(text: &str) -> Vec<String> {
    text.trim_end().split('\n').map(str::to_owned).collect()
}

/// A field change: a list as added and removed items, a text of several lines as its changed lines, everything else as
/// before → after.
pub fn field_text(field: &FieldChange, width: usize) -> Vec<String> {
    let path = &field.path;
    match (&field.before, &field.after) {
        (Value::Array(before), Value::Array(after)) => {
            if let Some(lines) = list_delta(path, before, after) {
                return lines;
            }
        }
        (Value::String(before), Value::String(after)) if before.contains('\n') || after.contains('\n') => {
            return text_delta(path, before, after);
        }
        _ => {}
    }
    let (before, after) = (inline(&field.before), inline(&field.after));
    // Two masked secrets look the same and differ.
    let note = if before == after { " (differs)" } else { "" };
    let line = format!("{path}: {before} → {after}{note}");
    match fits(&line, width) {
        true => vec![line],
        false => vec![format!("{path}:"), format!("  - {before}"), format!("  + {after}")],
    }
}

/// The items that a list gains and loses; `None` if only the order changes.
fn list_delta(path: &str, before: &[Value], after: &[Value]) -> Option<Vec<String>> {
    let only_in = |list: &[Value], other: &[Value], sign: &str| -> Vec<String> {
        list.iter()
            .filter(|item| !other.contains(item))
            .map(|item| format!("{sign}{}", inline(item)))
            .collect()
    };
    let deltas = [only_in(before, after, "-"), only_in(after, before, "+")];
    let lines: Vec<String> = deltas
        .iter()
        .filter(|items| !items.is_empty())
        .map(|items| format!("{path}: {}", items.join(" ")))
        .collect();
    (!lines.is_empty()).then_some(lines)
}

fn text_delta(path: &str, before: &str, after: &str) -> Vec<String> {
    let (before, after) = (line_diff::split(before), line_diff::split(after));
    let hunks = line_diff::hunks(&before, &after, 0);
    let changed = hunks
        .iter()
        .flat_map(line_diff::Hunk::lines)
        .map(|change| format!("  {} {}", change.sign(), change.text(&before, &after).trim_end_matches('\n')));
    std::iter::once(format!("{path}:")).chain(changed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn field(before: Value, after: Value) -> FieldChange {
        FieldChange { path: "x".to_owned(), before, after }
    }

    #[test]
    fn what_does_not_fit_is_spread_out_and_never_cut() {
        let spec = json!({"host": {"files": {"/etc/motd": {"content": "one\ntwo\n", "mode": "0600"}}, "packages": ["a"]}});
        assert_eq!(
            payload_lines(&spec, 30),
            [
                "host:",
                "  files:",
                "    /etc/motd:",
                "      content: |",
                "        one",
                "        two",
                "      mode: 0600",
                "  packages: [a]"
            ]
        );
    }

    #[test]
    fn lists_tell_what_they_gain_and_lose_and_order_where_only_that_changes() {
        assert_eq!(field_text(&field(json!(["a", "b"]), json!(["b", "c"])), 80), ["x: -a", "x: +c"]);
        assert_eq!(field_text(&field(json!(["a", "b"]), json!(["b", "a"])), 80), ["x: [a, b] → [b, a]"]);
    }

    #[test]
    fn hidden_values_that_differ_say_so() {
        assert_eq!(
            field_text(&field(json!("(hidden)"), json!("(hidden)")), 80),
            ["x: (hidden) → (hidden) (differs)"]
        );
    }

    #[test]
    fn long_values_stand_below_each_other_and_texts_tell_their_changed_lines() {
        let (before, after) = ("a".repeat(40), "b".repeat(40));
        let lines = field_text(&field(json!(before), json!(after)), 40);
        assert_eq!(lines, ["x:".to_owned(), format!("  - {before}"), format!("  + {after}")]);
        assert_eq!(field_text(&field(json!("a\nb\n"), json!("a\nc\n")), 40), ["x:", "  - b", "  + c"]);
    }
}
