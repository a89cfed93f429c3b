//! Compares a declared with an accepted spec and returns the edits of the entry. Both are without fields that equal
//! their default.

use serde_json::{Map, Value};

use crate::yaml::{Edit, EditStep, EmptiedCollection, Insertion, NestedEdits, NewValue};

/// How deep inside a field the edits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditDepth {
    /// Single values and items at any depth.
    Values,
    /// Whole fields of the resource.
    Fields,
}

/// The edits that make a declared map equal to the accepted one.
pub(super) fn changes(
    declared: &Map<String, Value>,
    accepted: &Map<String, Value>,
    depth: EditDepth,
) -> NestedEdits {
    let mut within = NestedEdits { emptied: EmptiedCollection::Kept, ..NestedEdits::default() };
    for key in declared.keys().filter(|key| !accepted.contains_key(*key)) {
        within.steps.insert(EditStep::Key(key.clone()), Edit::Remove);
    }
    for (key, value) in accepted {
        let edit = match declared.get(key) {
            Some(before) if before == value => continue,
            Some(before) if depth == EditDepth::Values => change(before, value),
            _ => Edit::Put(NewValue::from(value.clone())),
        };
        within.steps.insert(EditStep::Key(key.clone()), edit);
    }
    within
}

fn change(declared: &Value, accepted: &Value) -> Edit {
    let inside = match (declared, accepted) {
        (Value::Object(before), Value::Object(after)) if !after.is_empty() => {
            Some(changes(before, after, EditDepth::Values))
        }
        (Value::Array(before), Value::Array(after)) => changed_items(before, after),
        _ => None,
    };
    inside.map_or_else(|| Edit::Put(NewValue::from(accepted.clone())), Edit::Within)
}

/// Unchanged items are not edited. Whether their order is right is checked when the result is read.
fn changed_items(before: &[Value], after: &[Value]) -> Option<NestedEdits> {
    if before.len() == after.len() && before.iter().chain(after).all(Value::is_object) {
        let pairs = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
        let steps = pairs.map(|(index, (before, after))| (EditStep::Index(index), change(before, after)));
        return Some(NestedEdits {
            steps: steps.collect(),
            emptied: EmptiedCollection::Kept,
            ..NestedEdits::default()
        });
    }
    let said = |values: &[Value]| -> Option<Vec<String>> {
        values.iter().map(|value| value.as_str().map(str::to_owned)).collect()
    };
    let (before, after) = (said(before)?, said(after)?);
    if !after.iter().any(|item| before.contains(item)) {
        return None;
    }
    let gone = before.iter().filter(|item| !after.contains(item));
    let new = after.iter().filter(|item| !before.contains(item));
    Some(NestedEdits {
        steps: gone.map(|item| (EditStep::ItemWithText(item.clone()), Edit::Remove)).collect(),
        added: new.map(|item| Insertion::Item(NewValue::Single(Value::from(item.as_str())))).collect(),
        emptied: EmptiedCollection::Kept,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edit(declared: &Value, accepted: &Value, depth: EditDepth) -> NestedEdits {
        changes(declared.as_object().unwrap(), accepted.as_object().unwrap(), depth)
    }

    #[test]
    fn only_what_differs_changes() {
        let within =
            edit(&json!({"a": 1, "b": {"c": 1, "d": 2}}), &json!({"a": 1, "b": {"c": 1}}), EditDepth::Values);
        let Some(Edit::Within(inner)) = within.steps.get(&EditStep::Key("b".to_owned())) else {
            panic!("{within:?}")
        };
        assert_eq!(inner.steps.keys().collect::<Vec<_>>(), [&EditStep::Key("d".to_owned())]);
        assert_eq!(within.steps.len(), 1);
    }

    #[test]
    fn a_coarse_change_writes_the_field_anew() {
        let within = edit(&json!({"b": {"c": 1, "d": 2}}), &json!({"b": {"c": 1}}), EditDepth::Fields);
        let put = Edit::Put(NewValue::from(json!({"c": 1})));
        assert_eq!(within.steps.get(&EditStep::Key("b".to_owned())), Some(&put));
    }

    #[test]
    fn items_that_stay_are_left_alone() {
        let within = edit(&json!({"l": ["a", "b"]}), &json!({"l": ["b", "c"]}), EditDepth::Values);
        let Some(Edit::Within(inner)) = within.steps.get(&EditStep::Key("l".to_owned())) else {
            panic!("{within:?}")
        };
        assert_eq!(inner.steps.keys().collect::<Vec<_>>(), [&EditStep::ItemWithText("a".to_owned())]);
        assert_eq!(inner.added, [Insertion::Item(NewValue::from(json!("c")))]);
    }
}
