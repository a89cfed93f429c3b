//! Direct changes of accepted resources, for example to carry out a proposal step by step.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_core::resource::Kind;
use windlass_core::schema::kind_schema;

use crate::call::ApiCallSpec;
use crate::refusal::{CallError, refusal};
use crate::summary::{self, text};
use crate::tool::{ToolReply, ToolRequest};

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

/// The fields of a direct change that awaits approval.
const WAITING_FIELDS: &[&str] =
    &["id", "action", "kind", "name", "status", "digest", "gate", "blocked_by", "blocked_by_kinds"];

const REASON: &str = "The reason, recorded in the audit log and shown to approvers.";
const NAME: &str = "Its name, as in the payload of a proposal.";

/// A node to create: the payload of a proposal, unchanged.
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

impl ToolRequest for CreateNode {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![with_reason(
            ApiCallSpec::new(Operation::Resource(Noun::Node, ResourceVerb::Create)),
            &self.0,
        )])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        direct_change_reply(Noun::Node, "made", &answer)
    }
}

/// A template to create: the payload of a proposal, unchanged.
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

impl ToolRequest for CreateTemplate {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        Ok(vec![with_reason(
            ApiCallSpec::new(Operation::Resource(Noun::NodeTemplate, ResourceVerb::Create)),
            &self.0,
        )])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        direct_change_reply(Noun::NodeTemplate, "made", &answer)
    }
}

/// The change of a node: some of its fields, or the payload of a proposal, unchanged.
#[derive(Deserialize)]
pub(crate) struct UpdateInstance(Map<String, Value>);

impl JsonSchema for UpdateInstance {
    fn schema_name() -> Cow<'static, str> {
        "UpdateInstance".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = [
            ("instance_id", "The machine, by id or name. Default: taken from `hostname` or `name`."),
            ("hostname", "The machine's name."),
            ("name", NAME),
        ];
        let mut schema = fields_of(Kind::Node, &names);
        schema.insert("required".to_owned(), json!([]));
        schema
    }
}

impl ToolRequest for UpdateInstance {
    fn calls(&self) -> Result<Vec<ApiCallSpec>, CallError> {
        let named = ["instance_id", "hostname", "name"].into_iter().find_map(|key| self.0.get(key)?.as_str());
        let id = named.ok_or_else(|| {
            refusal(
                "missing-argument",
                "the argument `instance_id` is missing",
                "give the machine's id or name",
            )
        })?;
        let mut fields = self.0.clone();
        fields.remove("instance_id");
        Ok(vec![with_reason(
            ApiCallSpec::about(Operation::Resource(Noun::Instance, ResourceVerb::Patch), id)?,
            &fields,
        )])
    }

    fn reply(&self, answer: Value) -> ToolReply {
        direct_change_reply(Noun::Instance, "changed", &answer)
    }
}

/// The call with the fields as its body, and the reason.
fn with_reason(call: ApiCallSpec, fields: &Map<String, Value>) -> ApiCallSpec {
    let mut fields = fields.clone();
    let reason = fields.remove("reason").and_then(|reason| reason.as_str().map(str::to_owned));
    call.query("reason", reason.as_ref()).body(&fields)
}

/// The schema of a kind's fields, as in fleet.yaml, and of the arguments that name the resource.
fn fields_of(kind: Kind, names: &[(&str, &str)]) -> Schema {
    let mut schema = kind_schema(kind);
    schema["type"] = json!("object");
    for (key, about) in names.iter().chain(&[("reason", REASON)]) {
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

fn direct_change_reply(noun: Noun, done: &str, answer: &Value) -> ToolReply {
    if let Some(proposal) = answer.get("proposal") {
        let text = format!("{} (proposal {})", text(answer, "message"), text(proposal, "id"));
        return ToolReply {
            text,
            value: json!({ "proposal": summary::select_fields(proposal, WAITING_FIELDS) }),
        };
    }
    let resource = answer.get(noun.singular()).unwrap_or(answer);
    let text = format!(
        "{done} {} {} directly; it may differ from git",
        text(resource, "kind"),
        text(resource, "name")
    );
    ToolReply { text, value: json!({ noun.singular(): summary::select_fields(resource, FIELDS) }) }
}
