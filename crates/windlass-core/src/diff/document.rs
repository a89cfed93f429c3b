//! The differences by kind and change, as a sync run shows them.

use serde_json::{Map, Value, json};

use super::Action;
use crate::resource::{Kind, KindSection, ResourceKey};

/// The position of a kind in the document: SD-WAN and federation kinds are grouped.
fn place(kind: Kind) -> (Option<&'static str>, &'static str) {
    let home = KindSection::of(kind);
    match (home.section, home.member) {
        ([group, ..], Some(member)) => (Some(group), member),
        ([group, section], None) => (Some(group), section),
        _ => (None, kind.plural()),
    }
}

/// `{templates: {add, update, delete}, …, sdwan: {networks, …}}` with the names of each, in the given order. Kinds
/// without a difference have empty lists.
pub fn diff_document<'k>(changes: impl IntoIterator<Item = (Action, &'k ResourceKey)>) -> Value {
    let mut document = Map::new();
    for kind in Kind::ALL {
        *slot(&mut document, *kind) = json!({"add": [], "update": [], "delete": []});
    }
    add_all(&mut document, changes);
    Value::Object(document)
}

/// The same document without empty lists: `{}` if nothing differs.
pub fn nonempty_diff_document<'k>(changes: impl IntoIterator<Item = (Action, &'k ResourceKey)>) -> Value {
    let mut document = Map::new();
    add_all(&mut document, changes);
    Value::Object(document)
}

fn add_all<'k>(
    document: &mut Map<String, Value>,
    changes: impl IntoIterator<Item = (Action, &'k ResourceKey)>,
) {
    for (action, key) in changes {
        let word = match action {
            Action::Create => "add",
            Action::Update => "update",
            Action::Destroy => "delete",
        };
        let names = &mut slot(document, key.kind)[word];
        match names {
            Value::Array(names) => names.push(json!(key.name)),
            other => *other = json!([key.name]),
        }
    }
}

fn slot(document: &mut Map<String, Value>, kind: Kind) -> &mut Value {
    let (group, word) = place(kind);
    match group {
        Some(group) => &mut document.entry(group).or_insert_with(|| json!({}))[word],
        None => document.entry(word).or_insert(Value::Null),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_document_is_what_the_tutorial_prints() {
        let keys = [
            (Action::Create, ResourceKey::new(Kind::Template, "edge-cdn")),
            (Action::Create, ResourceKey::new(Kind::Network, "edge-fabric")),
            (Action::Destroy, ResourceKey::new(Kind::Node, "old")),
        ];
        let changes = || keys.iter().map(|(action, key)| (*action, key));
        let whole = diff_document(changes());
        assert_eq!(whole["templates"], json!({"add": ["edge-cdn"], "update": [], "delete": []}));
        assert_eq!(whole["sdwan"]["networks"]["add"], json!(["edge-fabric"]));
        assert_eq!(whole["sdwan"]["virtual_ips"], json!({"add": [], "update": [], "delete": []}));
        assert_eq!(nonempty_diff_document(changes())["nodes"], json!({"delete": ["old"]}));
        assert_eq!(nonempty_diff_document([]), json!({}));
    }
}
