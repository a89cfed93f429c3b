//! Simplifies JSON schemas: many clients pass them to models that support only one type per value.

use serde_json::{Map, Value, json};

/// Simplifies a schema: one type per value, words as `enum`, nothing nullable, no titles.
///
/// An optional argument may be null for the server; the schema shows it only as optional.
pub(crate) fn simplify(schema: &mut Map<String, Value>) {
    unwrap_choice(schema);
    list_words(schema);
    if let Some(Value::Array(types)) = schema.get("type") {
        // In YAML a text may be written as a number; in JSON that is not needed.
        let named = types.iter().find(|kind| *kind != "null").cloned();
        schema.insert("type".to_owned(), named.unwrap_or_else(|| json!("null")));
    }
    schema.retain(|key, value| match key.as_str() {
        "title" | "format" => false,
        "default" => !value.is_null(),
        _ => true,
    });
    for (key, value) in schema.iter_mut() {
        match value {
            // The keys are names of arguments, not keywords of JSON Schema.
            Value::Object(named) if key == "properties" || key == "$defs" => {
                named.values_mut().filter_map(Value::as_object_mut).for_each(simplify);
            }
            Value::Object(inner) if key != "default" => simplify(inner),
            Value::Array(several) => several.iter_mut().filter_map(Value::as_object_mut).for_each(simplify),
            _ => {}
        }
    }
}

/// Replaces "a value or null" by the value.
fn unwrap_choice(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("anyOf") else { return };
    let (nothing, something): (Vec<&Value>, Vec<&Value>) =
        choices.iter().partition(|choice| choice.get("type").is_some_and(|kind| kind == "null"));
    if let ([_], [Value::Object(only)]) = (nothing.as_slice(), something.as_slice()) {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
}

/// Replaces a choice of described words by a list of words.
fn list_words(schema: &mut Map<String, Value>) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let words: Option<Vec<Value>> =
        choices.iter().map(|choice| choice.get("const").filter(|word| word.is_string()).cloned()).collect();
    if let Some(words) = words {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), Value::Array(words));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_says_the_same_with_less() {
        let whole = json!({"title": "A", "properties": {
            "title": {"type": ["string", "null"], "default": null, "description": "what it is called"},
            "limit": {"type": ["integer", "null"], "format": "uint", "minimum": 1},
            "form": {"anyOf": [{"description": "inner", "oneOf": [{"const": "list", "description": "a"},
                {"const": "map", "description": "b"}]}, {"type": "null"}], "description": "outer"},
            "name": {"type": ["string", "number"], "title": "a name"}}});
        let Value::Object(mut schema) = whole else { panic!("it is an object") };
        simplify(&mut schema);
        let expected = json!({"properties": {
            "title": {"type": "string", "description": "what it is called"},
            "limit": {"type": "integer", "minimum": 1},
            "form": {"type": "string", "enum": ["list", "map"], "description": "outer"},
            "name": {"type": "string"}}});
        assert_eq!(Value::Object(schema), expected);
    }
}
