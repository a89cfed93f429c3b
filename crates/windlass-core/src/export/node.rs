//! A spec as a tree to write: fields in the order of the reference and not of the alphabet.

use serde_json::Value;

use crate::shape::Description;

/// A value to write.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum OutputNode {
    /// A number, `true`, `false` or `null`.
    Word(String),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<OutputNode>),
    /// A map in this order.
    Map(Vec<(String, OutputNode)>),
}

impl OutputNode {
    /// A value, with the fields of records in the order of their description.
    pub(super) fn of(value: Value, description: &Description) -> OutputNode {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => OutputNode::Word(value.to_string()),
            Value::String(text) => OutputNode::Text(text),
            Value::Array(items) => {
                let inner = inner(description);
                OutputNode::List(items.into_iter().map(|item| OutputNode::of(item, inner)).collect())
            }
            Value::Object(map) => match description {
                Description::Record(record) => {
                    let mut map = map;
                    let fields = record.fields.iter();
                    OutputNode::Map(
                        fields
                            .filter_map(|field| {
                                let value = map.remove(field.name)?;
                                Some((field.name.to_owned(), OutputNode::of(value, &(field.shape)())))
                            })
                            .collect(),
                    )
                }
                _ => {
                    let inner = inner(description);
                    OutputNode::Map(
                        map.into_iter().map(|(key, value)| (key, OutputNode::of(value, inner))).collect(),
                    )
                }
            },
        }
    }

    /// The nesting depth of collections.
    pub(super) fn depth(&self) -> usize {
        let below = match self {
            OutputNode::Word(_) | OutputNode::Text(_) => return 0,
            OutputNode::List(items) => items.iter().map(OutputNode::depth).max(),
            OutputNode::Map(entries) => entries.iter().map(|(_, value)| value.depth()).max(),
        };
        below.unwrap_or(0) + 1
    }
}

/// The description of a list's items or a map's values.
fn inner(description: &Description) -> &Description {
    match description {
        Description::List(item) | Description::Set(item) => item,
        Description::Map { value, .. } => value,
        _ => &Description::Free,
    }
}
