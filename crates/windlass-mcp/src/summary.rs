//! Shortens responses: what a model needs next, and how to get the rest.
//!
//! A cut list says that it was cut. Values that can be sent back, such as a payload, are shown in full or not at all: a
//! part could be mistaken for the whole.

use serde_json::{Map, Value, json};

/// The most items shown of a list.
pub(crate) const SHOWN: usize = 50;

/// The most characters of JSON for one item. A spec rarely has more than a few hundred.
const MAX_ITEM: usize = 20_000;

/// These fields of an object, without those that are null.
pub(crate) fn select_fields(value: &Value, keys: &[&str]) -> Map<String, Value> {
    let kept = keys.iter().filter_map(|key| Some(((*key).to_owned(), value.get(key)?.clone())));
    kept.filter(|(_, value)| !value.is_null()).collect()
}

/// Builds a shortened response, with notes about omitted parts.
pub(crate) struct SummaryBuilder {
    fields: Map<String, Value>,
    notes: Vec<String>,
}

impl SummaryBuilder {
    pub(crate) fn new(fields: Map<String, Value>) -> SummaryBuilder {
        SummaryBuilder { fields, notes: Vec::new() }
    }

    /// Cuts a list. `rest` says how to get the missing items.
    pub(crate) fn cut(mut self, key: &str, rest: &str) -> SummaryBuilder {
        if let Some(Value::Array(items)) = self.fields.get_mut(key)
            && items.len() > SHOWN
        {
            self.notes.push(format!("{key}: {SHOWN} of {} shown; {rest}", items.len()));
            items.truncate(SHOWN);
        }
        self
    }

    /// Cuts every list of names in a diff: kind → add, update, delete → names.
    pub(crate) fn cut_names(mut self, key: &str, rest: &str) -> SummaryBuilder {
        let mut most = 0;
        if let Some(diff) = self.fields.get_mut(key) {
            cut_lists(diff, &mut most);
        }
        if most > SHOWN {
            self.notes.push(format!("{key}: {SHOWN} names of each list shown, of up to {most}; {rest}"));
        }
        self
    }

    /// Omits fields that are too large, of the items of a list or of the object itself.
    pub(crate) fn bound(mut self, list: Option<&str>, fields: &[&str], rest: &str) -> SummaryBuilder {
        let mut left = 0;
        let mut bound = |item: &mut Map<String, Value>| {
            for field in fields {
                if item.get(*field).is_some_and(|value| value.to_string().len() > MAX_ITEM) {
                    item.insert((*field).to_owned(), Value::Null);
                    left += 1;
                }
            }
        };
        match list {
            Some(list) => {
                let items = self.fields.get_mut(list).and_then(Value::as_array_mut);
                items.into_iter().flatten().filter_map(Value::as_object_mut).for_each(bound);
            }
            None => bound(&mut self.fields),
        }
        if left > 0 {
            self.notes.push(format!("{left} of {} are too large and null here; {rest}", fields.join(", ")));
        }
        self
    }

    /// The response, with its notes if there are any.
    pub(crate) fn build(mut self) -> Map<String, Value> {
        if !self.notes.is_empty() {
            self.fields.insert("left_out".to_owned(), json!(self.notes));
        }
        self.fields
    }
}

fn cut_lists(value: &mut Value, most: &mut usize) {
    match value {
        Value::Array(items) => {
            *most = (*most).max(items.len());
            items.truncate(SHOWN);
        }
        Value::Object(map) => map.values_mut().for_each(|value| cut_lists(value, most)),
        _ => {}
    }
}

/// One page of a list, each item shortened, with the cursor of the next page.
pub(crate) fn page(
    answer: &Value,
    from: &str,
    to: &str,
    item: impl Fn(&Value) -> Map<String, Value>,
) -> Value {
    let items = answer.get(from).and_then(Value::as_array);
    let items: Vec<Value> = items.into_iter().flatten().map(|found| Value::Object(item(found))).collect();
    let next = answer.pointer("/meta/next_cursor").cloned().unwrap_or(Value::Null);
    json!({ to: items, "next_cursor": next })
}

/// The number of items of a list, in words.
pub(crate) fn count(value: &Value, key: &str, one: &str, many: &str) -> String {
    let number = value.get(key).and_then(Value::as_array).map_or(0, Vec::len);
    let more =
        if value.get("next_cursor").is_some_and(Value::is_string) { ", more with `next_cursor`" } else { "" };
    format!("{number} {}{more}", if number == 1 { one } else { many })
}

/// A text field of an object; empty if it is missing.
pub(crate) fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_said_and_nothing_is_shown_by_half() {
        let names: Vec<String> = (0..80).map(|number| format!("n{number}")).collect();
        let large = "x".repeat(MAX_ITEM + 1);
        let whole = json!({"diff": {"nodes": {"add": names}}, "problems": names,
            "proposals": [{"payload": {"a": large}}, {"payload": {"a": 1}}]});
        let fields = select_fields(&whole, &["diff", "problems", "proposals", "absent"]);
        let brief = SummaryBuilder::new(fields)
            .cut("problems", "fix these first")
            .cut_names("diff", "list them")
            .bound(Some("proposals"), &["payload"], "ask for one")
            .build();
        assert_eq!(brief["diff"]["nodes"]["add"].as_array().map(Vec::len), Some(SHOWN));
        assert_eq!(brief["problems"].as_array().map(Vec::len), Some(SHOWN));
        assert_eq!(brief["proposals"], json!([{"payload": null}, {"payload": {"a": 1}}]));
        assert_eq!(
            brief["left_out"],
            json!([
                "problems: 50 of 80 shown; fix these first",
                "diff: 50 names of each list shown, of up to 80; list them",
                "1 of payload are too large and null here; ask for one",
            ])
        );
    }
}
