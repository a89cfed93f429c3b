//! The JSON Schemas of fleet.yaml and of policies, for editors, generated from the descriptions that reading uses.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::gate::Policy;
use crate::manifest::FleetFile;
use crate::resource::Kind;
use crate::shape::{Description, FieldDescription, Record, RecordDescription, SectionDescription};

/// The JSON Schema (2020-12) of fleet.yaml and of the files it includes.
pub fn json_schema() -> Value {
    root_schema(&FleetFile::description(), "urn:windlass:schema:fleet:1", "fleet.yaml, version 1")
}

/// The JSON Schema (2020-12) of a policy.
pub fn policy_schema() -> Value {
    root_schema(&Policy::description(), "urn:windlass:schema:policy:1", "approval policy, version 1")
}

/// The JSON Schema (2020-12) of the fields of one kind of resource, without its name.
pub fn kind_schema(kind: Kind) -> Value {
    root_schema(&kind.description(), &format!("urn:windlass:schema:{}:1", kind.slug()), kind.slug())
}

/// The schema of a whole document, with its name and the title that editors show.
fn root_schema(record: &RecordDescription, id: &str, title: &str) -> Value {
    let mut definitions = Definitions::default();
    let mut root = definitions.record_schema(record, None);
    let entries = Map::from_iter([
        ("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema")),
        ("$id".to_owned(), json!(id)),
        ("title".to_owned(), json!(title)),
        ("$defs".to_owned(), Value::Object(definitions.schemas.into_iter().collect())),
    ]);
    if let Value::Object(map) = &mut root {
        map.extend(entries);
    }
    root
}

#[derive(Default)]
struct Definitions {
    schemas: BTreeMap<String, Value>,
}

impl Definitions {
    fn schema_of(&mut self, description: &Description) -> Value {
        match description {
            Description::Text { what, pattern } => text_schema(what, *pattern),
            Description::Boolean => json!({ "type": "boolean" }),
            Description::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
            Description::Choice(words) => {
                let options: Vec<Value> = words
                    .iter()
                    .map(|word| json!({ "const": word.word, "description": word.text() }))
                    .collect();
                json!({ "oneOf": options })
            }
            Description::List(item) => json!({ "type": "array", "items": self.schema_of(item) }),
            Description::Set(item) => {
                json!({ "type": "array", "items": self.schema_of(item), "uniqueItems": true })
            }
            Description::Map { key_pattern, value, .. } => map_schema(*key_pattern, self.schema_of(value)),
            Description::Record(record) => self.reference_to(record, None),
            Description::Section(section) => self.section_schema(section),
            Description::Free => json!({}),
        }
    }

    fn section_schema(&mut self, section: &SectionDescription) -> Value {
        let item = match section.value.as_ref() {
            Description::Record(record) => self.reference_to(record, Some(section)),
            other => self.schema_of(other),
        };
        let listed = json!({ "allOf": [item], "required": [section.name_key] });
        json!({
            "anyOf": [
                map_schema(section.name_pattern, item),
                { "type": "array", "items": listed },
                { "type": "null" },
            ]
        })
    }

    fn reference_to(&mut self, record: &RecordDescription, section: Option<&SectionDescription>) -> Value {
        if !self.schemas.contains_key(record.name) {
            // Reserved first, so that a record that contains itself terminates.
            self.schemas.insert(record.name.to_owned(), Value::Null);
            let schema = self.record_schema(record, section);
            self.schemas.insert(record.name.to_owned(), schema);
        }
        json!({ "$ref": format!("#/$defs/{}", record.name) })
    }

    fn record_schema(&mut self, record: &RecordDescription, section: Option<&SectionDescription>) -> Value {
        let mut properties = Map::new();
        if let Some(section) = section {
            let mut name = text_schema(section.name_what, section.name_pattern);
            name["description"] = json!("The name. In the map form it is optional and must equal the key.");
            properties.insert(section.name_key.to_owned(), name);
        }
        for field in &record.fields {
            properties.insert(field.name.to_owned(), self.field_schema(field));
        }
        let required: Vec<&str> =
            record.fields.iter().filter(|field| field.required).map(|field| field.name).collect();
        // An entry without fields may be null if no field is required.
        let kind = if required.is_empty() { json!(["object", "null"]) } else { json!("object") };
        json!({
            "type": kind,
            "description": record.text(),
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        })
    }

    fn field_schema(&mut self, field: &FieldDescription) -> Value {
        let mut schema = self.schema_of(&(field.shape)());
        if let Value::Object(map) = &mut schema {
            map.insert("description".to_owned(), json!(field.text()));
            if let Some(default) = field.default.clone().filter(|default| !is_nothing(default)) {
                map.insert("default".to_owned(), default);
            }
        }
        schema
    }
}

/// Unquoted numbers are accepted as text, so that `version: 1.10` needs no quotes.
fn text_schema(what: &str, pattern: Option<&str>) -> Value {
    let mut schema = json!({ "type": ["string", "number"], "title": what });
    if let Some(pattern) = pattern {
        schema["pattern"] = json!(pattern);
    }
    schema
}

fn map_schema(key_pattern: Option<&str>, value: Value) -> Value {
    let mut schema = json!({ "type": "object", "additionalProperties": value });
    if let Some(pattern) = key_pattern {
        schema["propertyNames"] = json!({ "pattern": pattern });
    }
    schema
}

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}
