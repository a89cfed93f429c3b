//! Which fields of a resource differ.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::content::ContentId;
use crate::resource::Spec;
use crate::secret;
use crate::shape::{Segment, path_text};

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    /// The path of the field, e.g. `labels.tier`.
    pub path: String,
    /// The accepted value; null if it is not set.
    pub before: Value,
    /// The desired value; null if it is not set.
    pub after: Value,
}

/// The fields that differ between two complete specs, in path order, secrets masked.
pub(crate) fn field_changes(before: &Value, after: &Value) -> Vec<FieldChange> {
    let mut changes = Vec::new();
    collect(before, after, &mut Vec::new(), &mut changes);
    changes
}

fn collect<'v>(before: &'v Value, after: &'v Value, path: &mut Vec<&'v str>, changes: &mut Vec<FieldChange>) {
    if before == after {
        return;
    }
    if let (Value::Object(left), Value::Object(right)) = (before, after) {
        let mut keys: Vec<&String> = left.keys().chain(right.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            path.push(key);
            collect(
                left.get(key).unwrap_or(&Value::Null),
                right.get(key).unwrap_or(&Value::Null),
                path,
                changes,
            );
            path.pop();
        }
        return;
    }
    let is_secret = path.iter().any(|key| secret::is_secret_key_name(key));
    let shown = |value: &Value| match value {
        Value::Null => Value::Null,
        Value::String(text) if is_secret && !secret::is_literal(text) => value.clone(),
        _ if is_secret => Value::String(secret::HIDDEN.to_owned()),
        other => hide_secrets(other.clone()),
    };
    changes.push(FieldChange {
        path: path_text(path.iter().map(|key| Segment::Key(key))),
        before: shown(before),
        after: shown(after),
    });
}

/// The paths whose content differs, each as a field under the name `content`.
pub(super) fn content_fields(
    before: &BTreeMap<&str, ContentId>,
    after: &BTreeMap<&str, ContentId>,
) -> Vec<FieldChange> {
    let paths: BTreeSet<&str> = before.keys().chain(after.keys()).copied().collect();
    let shown = |content: Option<&ContentId>| content.map_or(Value::Null, |id| Value::String(id.to_string()));
    paths
        .into_iter()
        .filter(|path| before.get(path) != after.get(path))
        .map(|path| FieldChange {
            path: path_text([Segment::Key("content"), Segment::Key(path)].into_iter()),
            before: shown(before.get(path)),
            after: shown(after.get(path)),
        })
        .collect()
}

/// The pins whose version differs, each as a field: `modules["nginx@live"]`. And the content of a module version.
pub(super) fn version_fields(before: &Spec, after: &Spec) -> Vec<FieldChange> {
    let (old, new) = (before.resolved_versions(), after.resolved_versions());
    let pins: BTreeSet<_> = old.keys().chain(new.keys()).collect();
    let text = |text: Option<String>| text.map_or(Value::Null, Value::String);
    let mut fields: Vec<FieldChange> = pins
        .into_iter()
        .filter(|pin| old.get(*pin) != new.get(*pin))
        .map(|pin| FieldChange {
            path: path_text([Segment::Key(pin.0), Segment::Key(&pin.1)].into_iter()),
            before: text(old.get(pin).map(ToString::to_string)),
            after: text(new.get(pin).map(ToString::to_string)),
        })
        .collect();
    let content = |spec: &Spec| {
        spec.version_content().map(|content| Spec::Module(content.clone()).digest().to_string())
    };
    let (old, new) = (content(before), content(after));
    if old != new {
        fields.push(FieldChange { path: "content".to_owned(), before: text(old), after: text(new) });
    }
    fields
}

/// A value with everything under secret-looking keys masked.
pub fn hide_secrets(mut value: Value) -> Value {
    mask_secrets(&mut value);
    value
}

/// Masks everything under secret-looking keys, and returns how many values that were. In place, because most values
/// contain no secret.
pub fn mask_secrets(value: &mut Value) -> usize {
    match value {
        Value::Object(map) => map.iter_mut().map(|(key, value)| mask_entry(key, value)).sum(),
        Value::Array(items) => items.iter_mut().map(mask_secrets).sum(),
        Value::String(text) => {
            let shown = secret::without_secrets(text);
            if shown == text.as_str() {
                return 0;
            }
            *text = shown.into_owned();
            1
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

fn mask_entry(key: &str, value: &mut Value) -> usize {
    let is_literal = match value {
        Value::Null | Value::Bool(_) => false,
        Value::String(text) => secret::is_literal(text),
        _ => true,
    };
    match is_literal && secret::is_secret_key_name(key) {
        true => {
            *value = Value::String(secret::HIDDEN.to_owned());
            1
        }
        false => mask_secrets(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_differing_fields_are_shown_and_secrets_are_hidden() {
        let before =
            json!({"region": "eu", "labels": {"tier": "edge"}, "config": {"db_password": "one", "port": 1}});
        let after = json!({"region": "us", "labels": {}, "config": {"db_password": "two", "port": 1}});
        let changes = field_changes(&before, &after);
        let told: Vec<(&str, &Value, &Value)> =
            changes.iter().map(|change| (change.path.as_str(), &change.before, &change.after)).collect();
        assert_eq!(
            told,
            [
                ("config.db_password", &json!("(hidden)"), &json!("(hidden)")),
                ("labels.tier", &json!("edge"), &json!(null)),
                ("region", &json!("eu"), &json!("us")),
            ]
        );
    }

    #[test]
    fn a_reference_to_a_secret_is_not_a_secret() {
        let value = json!({"password": "vault:db#password", "token": "abc", "list": [{"api_key": "x"}]});
        let hidden =
            json!({"password": "vault:db#password", "token": "(hidden)", "list": [{"api_key": "(hidden)"}]});
        assert_eq!(hide_secrets(value), hidden);
    }
}
