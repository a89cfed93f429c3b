//! Writes new values, in block or flow style. Everything written here reads back as the same value.

use serde_json::Value;

use super::text::{block_lines, double_quoted, inline, is_hidden};

/// The indentation of block collections.
pub(super) const STEP: usize = 2;

/// A list or map of single values is written on one line if it has at most this many characters.
const MAX_FLOW: usize = 60;

/// A new value for the text; maps keep their order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum NewValue {
    Single(Value),
    List(Vec<NewValue>),
    Map(Vec<(String, NewValue)>),
}

impl From<Value> for NewValue {
    fn from(value: Value) -> NewValue {
        match value {
            Value::Array(items) => NewValue::List(items.into_iter().map(NewValue::from).collect()),
            Value::Object(entries) => {
                NewValue::Map(entries.into_iter().map(|(key, value)| (key, NewValue::from(value))).collect())
            }
            single => NewValue::Single(single),
        }
    }
}

impl NewValue {
    /// Whether it is written on the line where it begins.
    fn is_compact(&self) -> bool {
        let is_single = |value: &NewValue| match value {
            NewValue::Single(Value::String(text)) => !text.contains('\n'),
            value => matches!(value, NewValue::Single(_)),
        };
        let is_flat = match self {
            NewValue::Single(_) => return true,
            NewValue::List(items) => items.iter().all(is_single),
            NewValue::Map(entries) => entries.iter().all(|(_, value)| is_single(value)),
        };
        self.is_empty() || (is_flat && flow(self).chars().count() <= MAX_FLOW)
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            NewValue::Single(_) => false,
            NewValue::List(items) => items.is_empty(),
            NewValue::Map(entries) => entries.is_empty(),
        }
    }
}

/// The quotes of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    /// Only if needed.
    AsNeeded,
    /// `'…'` if possible.
    Single,
    /// `"…"`.
    Double,
}

/// A value as a document of its own.
pub fn write(value: Value) -> String {
    let mut text = block(&NewValue::from(value), 0);
    text.push('\n');
    text
}

/// A value on one line.
pub(super) fn flow(fresh: &NewValue) -> String {
    match fresh {
        NewValue::Single(value) => single(value, Quotes::AsNeeded),
        NewValue::List(items) => format!("[{}]", joined(items.iter().map(flow))),
        NewValue::Map(entries) => {
            let entry = |(key, value): &(String, NewValue)| format!("{}: {}", key_text(key), flow(value));
            format!("{{{}}}", joined(entries.iter().map(entry)))
        }
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

/// A value by indentation. The first line is not indented: it begins at its position, at `column`.
pub(crate) fn block(fresh: &NewValue, column: usize) -> String {
    match fresh {
        NewValue::List(items) if !items.is_empty() => {
            lines(items.iter().map(|item| block_item(item, column)), column)
        }
        NewValue::Map(entries) if !entries.is_empty() => {
            lines(entries.iter().map(|(key, value)| block_entry(key, value, column)), column)
        }
        _ => flow(fresh),
    }
}

fn lines(parts: impl Iterator<Item = String>, column: usize) -> String {
    parts.collect::<Vec<_>>().join(&new_line(column))
}

/// A line end and the indentation of the next line.
pub(super) fn new_line(column: usize) -> String {
    format!("\n{:column$}", "")
}

/// An item of a block list whose dashes are at `column`.
pub(super) fn block_item(item: &NewValue, column: usize) -> String {
    match item {
        NewValue::Map(_) => format!("- {}", block(item, column + STEP)),
        NewValue::List(_) => format!("- {}", flow(item)),
        NewValue::Single(value) => format!("- {}", single_in_block(value, Quotes::AsNeeded, column)),
    }
}

/// An entry of a block map whose keys are at `column`.
pub(super) fn block_entry(key: &str, value: &NewValue, column: usize) -> String {
    let key = key_text(key);
    match value {
        NewValue::Single(value) => format!("{key}: {}", single_in_block(value, Quotes::AsNeeded, column)),
        _ if value.is_compact() => format!("{key}: {}", flow(value)),
        _ => format!("{key}:{}{}", new_line(column + STEP), block(value, column + STEP)),
    }
}

/// A key of a map.
pub(super) fn key_text(key: &str) -> String {
    text(key, Quotes::AsNeeded)
}

/// A single value where lines may follow: a text of several lines is written as a block.
pub(super) fn single_in_block(value: &Value, quotes: Quotes, column: usize) -> String {
    let Some((header, lines)) = value.as_str().and_then(block_lines) else { return single(value, quotes) };
    let shown = lines.map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("{}{line}", new_line(column + STEP)),
    });
    format!("{header}{}", shown.collect::<String>())
}

/// A single value on one line.
pub(super) fn single(value: &Value, quotes: Quotes) -> String {
    match value {
        Value::String(string) => text(string, quotes),
        other => other.to_string(),
    }
}

fn text(text: &str, quotes: Quotes) -> String {
    match quotes {
        Quotes::AsNeeded => inline(text),
        Quotes::Single if !text.chars().any(is_hidden) => format!("'{}'", text.replace('\'', "''")),
        _ => double_quoted(text),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::shape::{Decoder, FreeSettings, Shape as _};
    use crate::yaml;

    fn read(text: &str) -> Option<Value> {
        let (tree, findings) = yaml::parse(text);
        let tree = tree.filter(|_| findings.is_empty())?;
        let mut decoder = Decoder::default();
        let settings = FreeSettings::decode(tree.root(), &mut decoder)?;
        serde_json::to_value(&settings.0).ok()
    }

    fn value() -> impl Strategy<Value = Value> {
        let text = prop_oneof![
            "[ -~]{0,12}",
            "[a-z:#, \\[\\]{}&*!|>'\"%@`-]{0,8}",
            "([a-z #]{0,6}\n){0,3}[a-z ]{0,4}",
            "\\PC{0,6}",
            Just("yes".to_owned()),
            Just("0644".to_owned()),
            Just("1e3".to_owned()),
            Just("tab\tand\u{85}\u{7}".to_owned()),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1.0e9..1.0e9f64).prop_map(Value::from),
            text.prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z: #\"]{1,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_yaml_reads_back_unchanged(value in value()) {
            let value = json!({ "a": value });
            let fresh = NewValue::from(value.clone());
            for text in [block(&fresh, 0), flow(&fresh)] {
                prop_assert_eq!(read(&text), Some(value.clone()), "{}", text);
            }
        }
    }

    #[test]
    fn marks_that_hide_or_reorder_text_are_escaped_and_read_back() {
        let value = json!({ "a": "x\u{202e}y\nz\u{200b}", "b": "\u{e0041}" });
        let text = write(value.clone());
        assert_eq!(text, "a: \"x\\u202ey\\nz\\u200b\"\nb: \"\\U000e0041\"\n");
        assert_eq!(read(&text), Some(value));
    }

    #[test]
    fn text_is_quoted_where_it_would_mean_something_else() {
        let cases = [
            ("edge-tokyo-01", "edge-tokyo-01"),
            ("fd12::/64", "fd12::/64"),
            ("fd12::", "\"fd12::\""),
            ("nginx@1.26.0", "nginx@1.26.0"),
            ("0644", "\"0644\""),
            ("no", "\"no\""),
            ("", "\"\""),
            ("a: b", "\"a: b\""),
            ("a #b", "\"a #b\""),
        ];
        for (text, expected) in cases {
            assert_eq!(key_text(text), expected);
        }
    }
}
