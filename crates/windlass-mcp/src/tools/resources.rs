//! Changing live resources by hand, as someone does who follows a proposal instead of having it applied.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_api::endpoint::{Operation, Verb};
use windlass_api::noun::Noun;
use windlass_core::resource::Kind;
use windlass_core::schema::kind_schema;

use crate::brief::{self, text};
use crate::call::{Call, Refusal, refusal};
use crate::tool::{Asked, Told};

const FIELDS: &[&str] = &[
    "id",
    "kind",
    "name",
    "spec",
    "allocated",
    "digest",
    "owner",
    "differs_because",
    "generation",
    "updated_at",
];

const NAME: &str = "Its name, as proposals' payloads carry it.";

/// A node to make: the payload of a proposal, as it is.
#[derive(Deserialize)]
pub(crate) struct CreateNode(Map<String, Value>);

impl JsonSchema for CreateNode {
    fn schema_name() -> Cow<'static, str> {
        "CreateNode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        fields_of(Kind::Node, &[("hostname", "The machine's name."), ("name", NAME)])
    }
}

impl Asked for CreateNode {
    fn calls(&self) -> Result<Vec<Call>, Refusal> {
        Ok(vec![Call::new(Operation::Resource(Noun::Node, Verb::Create)).body(&self.0)])
    }

    fn tell(&self, answer: Value) -> Told {
        told(Noun::Node, "made", &answer)
    }
}

/// A template to make: the payload of a proposal, as it is.
#[derive(Deserialize)]
pub(crate) struct CreateTemplate(Map<String, Value>);

impl JsonSchema for CreateTemplate {
    fn schema_name() -> Cow<'static, str> {
        "CreateTemplate".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut schema = fields_of(Kind::Template, &[("name", NAME)]);
        schema.insert("required".to_owned(), json!(["name"]));
        schema
    }
}

impl Asked for CreateTemplate {
    fn calls(&self) -> Result<Vec<Call>, Refusal> {
        Ok(vec![Call::new(Operation::Resource(Noun::NodeTemplate, Verb::Create)).body(&self.0)])
    }

    fn tell(&self, answer: Value) -> Told {
        told(Noun::NodeTemplate, "made", &answer)
    }
}

/// What to change about a machine: some of its fields, or the payload of a proposal, as it is.
#[derive(Deserialize)]
pub(crate) struct UpdateInstance(Map<String, Value>);

impl JsonSchema for UpdateInstance {
    fn schema_name() -> Cow<'static, str> {
        "UpdateInstance".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = [
            ("instance_id", "The machine, by id or name. Left out: `hostname` or `name` says which."),
            ("hostname", "The machine's name."),
            ("name", NAME),
        ];
        let mut schema = fields_of(Kind::Node, &names);
        schema.insert("required".to_owned(), json!([]));
        schema
    }
}

impl Asked for UpdateInstance {
    fn calls(&self) -> Result<Vec<Call>, Refusal> {
        let named = ["instance_id", "hostname", "name"].into_iter().find_map(|key| self.0.get(key)?.as_str());
        let id = named.ok_or_else(|| {
            refusal("missing-argument", "the argument `instance_id` is missing", "say which machine is meant")
        })?;
        let mut fields = self.0.clone();
        fields.remove("instance_id");
        Ok(vec![Call::about(Operation::Resource(Noun::Instance, Verb::Patch), id)?.body(&fields)])
    }

    fn tell(&self, answer: Value) -> Told {
        told(Noun::Instance, "changed", &answer)
    }
}

/// The schema of a kind's fields, as fleet.yaml has them, and of what names the resource.
fn fields_of(kind: Kind, names: &[(&str, &str)]) -> Schema {
    let mut schema = kind_schema(kind);
    schema["type"] = json!("object");
    for (key, about) in names {
        schema["properties"][*key] = json!({ "type": "string", "description": about });
    }
    if let Some(map) = schema.as_object_mut() {
        map.retain(|key, _| !matches!(key.as_str(), "$schema" | "$id"));
        if map.get("$defs").and_then(Value::as_object).is_some_and(Map::is_empty) {
            map.remove("$defs");
        }
    }
    Schema::try_from(schema).unwrap_or_default()
}

fn told(noun: Noun, done: &str, answer: &Value) -> Told {
    let resource = answer.get(noun.singular()).unwrap_or(answer);
    let text = format!(
        "{done} {} {} by hand; git may say otherwise",
        text(resource, "kind"),
        text(resource, "name")
    );
    Told { text, value: json!({ noun.singular(): brief::keep(resource, FIELDS) }) }
}
