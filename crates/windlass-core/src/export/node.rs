//! A spec as a tree to be written: fields in the order of the reference, not of the alphabet.

use serde_json::Value;

use crate::shape::Description;

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    /// A number, `true`, `false` or `null`, as it is spelled.
    Word(String),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map in this order.
    Map(Vec<(String, Node)>),
}

impl Node {
    /// A value, its records' fields in the order in which they are described.
    pub(super) fn of(value: Value, description: &Description) -> Node {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => Node::Word(value.to_string()),
            Value::String(text) => Node::Text(text),
            Value::Array(items) => {
                let inner = inner(description);
                Node::List(items.into_iter().map(|item| Node::of(item, inner)).collect())
            }
            Value::Object(map) => match description {
                Description::Record(record) => {
                    let mut map = map;
                    let fields = record.fields.iter();
                    Node::Map(
                        fields
                            .filter_map(|field| {
                                let value = map.remove(field.name)?;
                                Some((field.name.to_owned(), Node::of(value, &(field.shape)())))
                            })
                            .collect(),
                    )
                }
                _ => {
                    let inner = inner(description);
                    Node::Map(map.into_iter().map(|(key, value)| (key, Node::of(value, inner))).collect())
                }
            },
        }
    }

    /// How many collections are nested in one another here.
    pub(super) fn depth(&self) -> usize {
        let below = match self {
            Node::Word(_) | Node::Text(_) => return 0,
            Node::List(items) => items.iter().map(Node::depth).max(),
            Node::Map(entries) => entries.iter().map(|(_, value)| value.depth()).max(),
        };
        below.unwrap_or(0) + 1
    }
}

/// What the items of a list or the values of a map look like.
fn inner(description: &Description) -> &Description {
    match description {
        Description::List(item) | Description::Set(item) => item,
        Description::Map { value, .. } => value,
        _ => &Description::Free,
    }
}
