//! The endpoint table as an OpenAPI 3.1 document.

use schemars::generate::SchemaSettings;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::endpoint::{Access, Endpoint, Operation, ResourceVerb, endpoints};
use crate::types::{ErrorEnvelope, PageMeta};

/// The document.
pub fn document() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
    });
    let mut generator = settings.into_generator();
    let error = generator.subschema_for::<ErrorEnvelope>();
    let mut paths: Map<String, Value> = Map::new();
    for endpoint in endpoints() {
        let request = endpoint.request.map(|describe| describe(&mut generator));
        let response =
            endpoint.response.map(|describe| named(&endpoint, describe(&mut generator), &mut generator));
        let operation = operation(&endpoint, request, response, &error);
        let methods = paths.entry(endpoint.path.clone()).or_insert_with(|| json!({}));
        methods[endpoint.method.as_str().to_lowercase()] = operation;
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Windlass",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "GitOps for whole fleets. Lists page by cursor; updates take If-Match; POST takes Idempotency-Key.",
        },
        "paths": paths,
        "components": {
            "schemas": generator.take_definitions(true),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"bearer": []}],
    })
}

/// What is answered: resources stand under their noun, everything else as it is described.
fn named(endpoint: &Endpoint, described: Schema, generator: &mut SchemaGenerator) -> Value {
    let Operation::Resource(noun, verb) = endpoint.operation else { return json!(described) };
    let (key, value) = match verb {
        ResourceVerb::List => (noun.plural(), json!({"type": "array", "items": described})),
        _ => (noun.singular(), json!(described)),
    };
    let mut schema = json!({"type": "object", "required": [key], "properties": {key: value}});
    if verb == ResourceVerb::List {
        schema["properties"]["meta"] = json!(generator.subschema_for::<PageMeta>());
        schema["required"] = json!([key, "meta"]);
    }
    schema
}

fn operation(endpoint: &Endpoint, request: Option<Schema>, response: Option<Value>, error: &Schema) -> Value {
    let mut told = json!({
        "operationId": operation_id(endpoint),
        "summary": endpoint.summary,
        "tags": [tag(endpoint)],
        "responses": {
            "2XX": {"description": "Done."},
            "default": {"description": "An error.", "content": {"application/json": {"schema": error}}},
        },
    });
    let parameters = parameters(endpoint);
    if !parameters.is_empty() {
        told["parameters"] = Value::Array(parameters);
    }
    if let Some(schema) = request {
        told["requestBody"] = json!({"content": {"application/json": {"schema": schema}}});
    }
    if let Some(schema) = response {
        told["responses"]["2XX"]["content"] = json!({"application/json": {"schema": schema}});
    }
    match endpoint.access {
        Access::Public => told["security"] = json!([]),
        Access::SignedIn => {}
        Access::Needs(permission) => told["x-permission"] = json!(permission),
        Access::Root => told["x-permission"] = json!("root"),
        Access::Agent => told["x-permission"] = json!("agent"),
    }
    if endpoint.operation.forbidden_for_tokens().is_some() {
        told["x-only-for-people"] = json!(true);
    }
    told
}

fn parameters(endpoint: &Endpoint) -> Vec<Value> {
    let in_path = endpoint
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}));
    let in_query = endpoint.query.iter().map(|(name, description)| {
        json!({"name": name, "in": "query", "description": description, "schema": {"type": "string"}})
    });
    in_path.chain(in_query).collect()
}

fn operation_id(endpoint: &Endpoint) -> String {
    let words = match endpoint.operation {
        Operation::Resource(noun, verb) => format!("{noun:?}{verb:?}"),
        other => format!("{other:?}"),
    };
    let mut id = String::with_capacity(words.len() + 4);
    for (index, c) in words.char_indices() {
        if c.is_uppercase() && index > 0 {
            id.push('_');
        }
        id.extend(c.to_lowercase());
    }
    id
}

fn tag(endpoint: &Endpoint) -> String {
    match endpoint.operation {
        Operation::Resource(noun, _) => noun.plural().to_owned(),
        _ => {
            let mut parts = endpoint.path.split('/').filter(|part| !part.is_empty());
            let named = parts.find(|part| !matches!(*part, "api" | "v1" | "system"));
            named.unwrap_or("server").trim_end_matches(".json").to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_endpoint_is_in_the_document_and_every_reference_resolves() {
        let document = document();
        for endpoint in endpoints() {
            let method = endpoint.method.as_str().to_lowercase();
            assert!(document["paths"][&endpoint.path][&method].is_object(), "{method} {}", endpoint.path);
        }
        let text = document.to_string();
        for reference in text.split("\"$ref\":\"#").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(document.pointer(reference).is_some(), "{reference}");
        }
    }
}
