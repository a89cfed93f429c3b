//! Parses the arguments of a tool; errors say how to correct them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use windlass_core::shape::nearest;

use crate::refusal::{CallError, refusal};

/// Parses arguments as a type. `schema` lists the arguments that exist.
pub(crate) fn read<A: DeserializeOwned>(
    given: &Map<String, Value>,
    schema: &Map<String, Value>,
) -> Result<A, CallError> {
    let known = || schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys);
    if let Some(unknown) = given.keys().find(|key| !known().any(|word| word == *key)) {
        let help = match nearest(unknown, known().map(String::as_str)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => match known().map(String::as_str).collect::<Vec<_>>().as_slice() {
                [] => "the tool takes no arguments".to_owned(),
                words => format!("known arguments: {}", words.join(", ")),
            },
        };
        return Err(refusal("unknown-argument", format!("unknown argument `{}`", short(unknown)), help));
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    if let Some(missing) = required.filter_map(Value::as_str).find(|key| !given.contains_key(*key)) {
        return Err(refusal(
            "missing-argument",
            format!("the argument `{missing}` is missing"),
            describe(missing, schema),
        ));
    }
    let wrong =
        || given.iter().find(|(key, value)| !matches_schema(value, key, schema)).map(|(key, _)| key.as_str());
    // The value is not repeated: it may be a secret in the wrong argument.
    A::deserialize(Value::Object(given.clone())).map_err(|_| match wrong() {
        Some(key) => {
            refusal("bad-argument", format!("the argument `{key}` is invalid"), describe(key, schema))
        }
        None => refusal("bad-argument", "an argument is invalid", "see the tool's input schema"),
    })
}

/// Whether a value has the type, and is one of the words, that the schema names. An optional argument may be null.
fn matches_schema(value: &Value, key: &str, schema: &Map<String, Value>) -> bool {
    let Some(about) = schema.get("properties").and_then(|all| all.get(key)) else { return true };
    if let Some(words) = about.get("enum").and_then(Value::as_array) {
        return value.is_null() || words.contains(value);
    }
    match about.get("type").and_then(Value::as_str) {
        _ if value.is_null() => true,
        Some("string") => value.is_string(),
        Some("integer") => value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        _ => true,
    }
}

/// The schema's description of an argument.
fn describe(key: &str, schema: &Map<String, Value>) -> String {
    let about = schema.get("properties").and_then(|all| all.get(key));
    let text = |word| about.and_then(|about| about.get(word)).and_then(Value::as_str);
    match (text("type"), text("description")) {
        (Some(kind), Some(about)) => format!("`{key}` ({kind}): {about}"),
        (None, Some(about)) => format!("`{key}`: {about}"),
        _ => "see the tool's input schema".to_owned(),
    }
}

/// An unknown argument name, shortened.
fn short(word: &str) -> String {
    word.chars().filter(|c| !c.is_control()).take(64).collect()
}
