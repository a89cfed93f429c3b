//! Resources as requests and answers carry them: the fields of the spec, with the name among them.
//!
//! The documents create a node with `{hostname, template, …}` and a peer with `{network, host, …}`; that is taken as it
//! is. So is `{name, spec: {…}}`, which is how answers look.

use serde_json::{Map, Value};
use windlass_core::code::Code;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::secret::HIDDEN;

/// The keys beside the spec that say which resource is meant, in the order in which they make up its name.
const fn name_keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Node => &["hostname"],
        Kind::Peer => &["network", "host"],
        Kind::VirtualIp => &["network", "name"],
        Kind::Assignment => &["node", "module"],
        _ => &["name"],
    }
}

const fn separator(kind: Kind) -> &'static str {
    match kind {
        Kind::Assignment => ":",
        _ => "/",
    }
}

/// The spec's JSON with the name before it, as the tutorial prints payloads.
pub(crate) fn with_name(key: &ResourceKey, spec: Value) -> Value {
    let mut payload = Map::new();
    let keys = name_keys(key.kind);
    let mut parts = key.name.splitn(keys.len(), separator(key.kind));
    payload.insert("name".to_owned(), Value::from(key.name.clone()));
    for name_key in keys {
        if let Some(part) = parts.next() {
            payload.insert((*name_key).to_owned(), Value::from(part));
        }
    }
    if key.kind == Kind::VirtualIp {
        payload.insert("name".to_owned(), Value::from(key.name.clone()));
    }
    if let Value::Object(spec) = spec {
        payload.extend(spec);
    }
    Value::Object(payload)
}

/// The body's resource, out of the wrapper by its noun if there is one.
pub(crate) fn unwrap<'b>(noun: &str, body: &'b Value) -> &'b Value {
    match body.as_object() {
        Some(map) if map.len() == 1 => map.get(noun).unwrap_or(body),
        _ => body,
    }
}

/// The name a body gives.
pub(crate) fn name_of(kind: Kind, body: &Value) -> Option<String> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let whole = text("name").filter(|name| name_keys(kind).len() == 1 || name.contains(separator(kind)));
    let parts: Option<Vec<String>> = name_keys(kind).iter().map(|key| text(key)).collect();
    whole.or_else(|| parts.map(|parts| parts.join(separator(kind))))
}

/// The spec's JSON out of a payload for a resource of this name. What names the resource must name this one.
pub(crate) fn spec_value(kind: Kind, name: &str, payload: &Value) -> Result<Value, Diagnostic> {
    let problem = |message: String, help: &str| {
        Diagnostic::without_place(Code::WrongType, kind.slug(), message).help(help)
    };
    let Some(map) = payload.as_object() else {
        return Err(problem(format!("a {kind} is an object of fields"), "send its spec as a JSON object"));
    };
    if name_of(kind, payload).is_some_and(|given| given != name) {
        let message = format!("the payload names another {kind} than {name}");
        return Err(
            Diagnostic::without_place(Code::NameMismatch, kind.slug(), message).help("leave the name out")
        );
    }
    if holds_hidden(payload) {
        let message = format!("a field holds {HIDDEN}, which stands for a secret and is not one");
        return Err(Diagnostic::without_place(Code::BadValue, kind.slug(), message)
            .help("leave such fields out of a PATCH, or send the secret's own value"));
    }
    if let Some(spec) = map.get("spec").filter(|spec| spec.is_object()) {
        return Ok(spec.clone());
    }
    let is_name = |key: &str| key == "name" || key == "id" || key == "kind" || name_keys(kind).contains(&key);
    Ok(Value::Object(
        map.iter()
            .filter(|(key, _)| !is_name(key))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect(),
    ))
}

/// Whether someone sends back what answers show instead of secrets.
fn holds_hidden(value: &Value) -> bool {
    match value {
        Value::String(text) => text == HIDDEN,
        Value::Array(items) => items.iter().any(holds_hidden),
        Value::Object(map) => map.values().any(holds_hidden),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn payloads_read_back_as_what_they_were() {
        let spec = json!({"publicly_reachable": true});
        for (kind, name) in [
            (Kind::Peer, "fabric/edge-01"),
            (Kind::VirtualIp, "fabric/cdn"),
            (Kind::Assignment, "edge-01:nginx"),
            (Kind::Node, "edge-01"),
            (Kind::Template, "base"),
        ] {
            let key = ResourceKey::new(kind, name);
            let payload = with_name(&key, spec.clone());
            assert_eq!(name_of(kind, &payload).as_deref(), Some(name), "{payload}");
            assert_eq!(spec_value(kind, name, &payload).ok(), Some(spec.clone()), "{payload}");
        }
    }

    #[test]
    fn a_payload_for_another_resource_is_refused() {
        assert!(spec_value(Kind::Node, "a", &json!({"hostname": "b"})).is_err());
        assert!(spec_value(Kind::Node, "a", &json!([])).is_err());
        assert!(spec_value(Kind::Node, "a", &json!({"config": {"db_password": "(hidden)"}})).is_err());
        assert_eq!(
            spec_value(Kind::Node, "a", &json!({"name": "a", "spec": {"x": 1}})).ok(),
            Some(json!({"x": 1}))
        );
    }
}
