//! Declared × accepted spec → what changes in the entry. Both are without the fields that equal their default.

use serde_json::{Map, Value};

use crate::yaml::{Added, Edit, Emptied, Fresh, Step, Within};

/// How far inside a field its values are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Depth {
    /// Single values and items, wherever they are.
    Values,
    /// The fields of the resource; each is written anew.
    Fields,
}

/// What makes a declared map the same as the accepted one.
pub(super) fn changes(declared: &Map<String, Value>, accepted: &Map<String, Value>, depth: Depth) -> Within {
    let mut within = Within { emptied: Emptied::Kept, ..Within::default() };
    for key in declared.keys().filter(|key| !accepted.contains_key(*key)) {
        within.steps.insert(Step::Key(key.clone()), Edit::Remove);
    }
    for (key, value) in accepted {
        let edit = match declared.get(key) {
            Some(before) if before == value => continue,
            Some(before) if depth == Depth::Values => change(before, value),
            _ => Edit::Put(Fresh::from(value.clone())),
        };
        within.steps.insert(Step::Key(key.clone()), edit);
    }
    within
}

fn change(declared: &Value, accepted: &Value) -> Edit {
    let inside = match (declared, accepted) {
        (Value::Object(before), Value::Object(after)) if !after.is_empty() => {
            Some(changes(before, after, Depth::Values))
        }
        (Value::Array(before), Value::Array(after)) => changed_items(before, after),
        _ => None,
    };
    inside.map_or_else(|| Edit::Put(Fresh::from(accepted.clone())), Edit::Within)
}

/// Items that stay are left alone. Whether their order is the right one shows when the result is read.
fn changed_items(before: &[Value], after: &[Value]) -> Option<Within> {
    if before.len() == after.len() && before.iter().chain(after).all(Value::is_object) {
        let pairs = before.iter().zip(after).enumerate().filter(|(_, (before, after))| before != after);
        let steps = pairs.map(|(index, (before, after))| (Step::Index(index), change(before, after)));
        return Some(Within { steps: steps.collect(), emptied: Emptied::Kept, ..Within::default() });
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
    Some(Within {
        steps: gone.map(|item| (Step::Saying(item.clone()), Edit::Remove)).collect(),
        added: new.map(|item| Added::Item(Fresh::Single(Value::from(item.as_str())))).collect(),
        emptied: Emptied::Kept,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edit(declared: &Value, accepted: &Value, depth: Depth) -> Within {
        changes(declared.as_object().unwrap(), accepted.as_object().unwrap(), depth)
    }

    #[test]
    fn only_what_differs_changes() {
        let within =
            edit(&json!({"a": 1, "b": {"c": 1, "d": 2}}), &json!({"a": 1, "b": {"c": 1}}), Depth::Values);
        let Some(Edit::Within(inner)) = within.steps.get(&Step::Key("b".to_owned())) else {
            panic!("{within:?}")
        };
        assert_eq!(inner.steps.keys().collect::<Vec<_>>(), [&Step::Key("d".to_owned())]);
        assert_eq!(within.steps.len(), 1);
    }

    #[test]
    fn a_coarse_change_writes_the_field_anew() {
        let within = edit(&json!({"b": {"c": 1, "d": 2}}), &json!({"b": {"c": 1}}), Depth::Fields);
        let put = Edit::Put(Fresh::from(json!({"c": 1})));
        assert_eq!(within.steps.get(&Step::Key("b".to_owned())), Some(&put));
    }

    #[test]
    fn items_that_stay_are_left_alone() {
        let within = edit(&json!({"l": ["a", "b"]}), &json!({"l": ["b", "c"]}), Depth::Values);
        let Some(Edit::Within(inner)) = within.steps.get(&Step::Key("l".to_owned())) else {
            panic!("{within:?}")
        };
        assert_eq!(inner.steps.keys().collect::<Vec<_>>(), [&Step::Saying("a".to_owned())]);
        assert_eq!(inner.added, [Added::Item(Fresh::from(json!("c")))]);
    }
}
