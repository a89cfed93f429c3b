//! Resources in requests and responses: the fields of the spec together with the name.
//!
//! A request may be flat, as in the documentation: `{hostname, template, …}` creates a node, `{network, host, …}` a
//! peer. It may also have the form of responses: `{name, spec: {…}}`.

use serde_json::{Map, Value};
use windlass_core::code::Code;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::diff::hide_secrets;
use windlass_core::proposal::Proposal;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::secret::{HIDDEN, is_mask};
use windlass_core::shape::Defaults;

/// The spec of a proposal with its name, secrets hidden.
pub(crate) fn payload_of(proposal: &Proposal) -> Value {
    let spec = proposal.change.after.as_ref().or(proposal.change.before.as_ref());
    let spec = spec.map_or(Value::Null, |spec| hide_secrets(spec.to_json(Defaults::Omit)));
    with_name(&proposal.change.key, spec)
}

/// The keys beside the spec that identify the resource, in the order in which they form its name.
const fn name_keys(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Node => &["hostname"],
        Kind::Peer => &["network", "host"],
        Kind::VirtualIp => &["network", "name"],
        Kind::Assignment => &["node", "module"],
        Kind::Template
        | Kind::Module
        | Kind::ModuleVersion
        | Kind::Network
        | Kind::FederationPeer
        | Kind::Cluster
        | Kind::ClusterGroup
        | Kind::Bundle
        | Kind::NotificationProvider
        | Kind::Alert => &["name"],
    }
}

/// The separator between the parts of a name that has several.
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

/// The resource in a body, without the wrapper `{noun: …}` if there is one.
pub(crate) fn unwrap_noun<'b>(noun: &str, body: &'b Value) -> &'b Value {
    match body.as_object() {
        Some(map) if map.len() == 1 => map.get(noun).unwrap_or(body),
        _ => body,
    }
}

/// The name of the resource in a body.
pub(crate) fn name_of(kind: Kind, body: &Value) -> Option<String> {
    let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
    let whole = text("name").filter(|name| name_keys(kind).len() == 1 || name.contains(separator(kind)));
    let parts: Option<Vec<String>> = name_keys(kind).iter().map(|key| text(key)).collect();
    whole.or_else(|| parts.map(|parts| parts.join(separator(kind))))
}

/// The spec's JSON from a payload for the resource of this name. If the payload names a resource, it must be this one.
pub fn spec_value(kind: Kind, name: &str, payload: &Value) -> Result<Value, Box<Diagnostic>> {
    let problem = |message: String, help: &str| {
        Box::new(Diagnostic::without_place(Code::WrongType, kind.slug(), message).help(help))
    };
    let Some(map) = payload.as_object() else {
        return Err(problem(
            format!("a {kind} must be an object of fields"),
            "send its spec as a JSON object",
        ));
    };
    if name_of(kind, payload).is_some_and(|given| given != name) {
        let message = format!("the payload names a {kind} other than {name}");
        let problem = Diagnostic::without_place(Code::NameMismatch, kind.slug(), message);
        return Err(Box::new(problem.help("omit the name")));
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

/// Replaces masks with the values that responses hide, so that a client can send a response back with another field
/// changed. A mask where no hidden value is known is an error and not a value.
pub(crate) fn restore_hidden(
    kind: Kind,
    mut given: Value,
    before: Option<&Value>,
) -> Result<Value, Box<Diagnostic>> {
    restore_value(&mut given, before, "").map_err(|path| {
        let message = format!("`{path}` is {HIDDEN}, the mask of a hidden value");
        let problem = Diagnostic::without_place(Code::WrongType, format!("{}.{path}", kind.slug()), message);
        Box::new(problem.help("keep the mask where it was shown, or send the value"))
    })?;
    Ok(given)
}

/// Replaces masks in place, or returns the path of a mask whose value is not known.
fn restore_value(given: &mut Value, before: Option<&Value>, path: &str) -> Result<(), String> {
    match given {
        Value::Object(map) => map.iter_mut().try_for_each(|(key, value)| {
            let below = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            restore_value(value, before.and_then(|before| before.get(key)), &below)
        }),
        // Items of a list may have moved: a list is restored as a whole or not at all.
        Value::Array(items) => match before {
            Some(before) if hide_secrets(before.clone()) == Value::Array(items.clone()) => {
                *given = before.clone();
                Ok(())
            }
            _ => items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| restore_value(item, None, &format!("{path}[{index}]"))),
        },
        Value::String(text) if is_mask(text) => match before {
            Some(before) if text == HIDDEN || hide_secrets(before.clone()) == text.as_str() => {
                *given = before.clone();
                Ok(())
            }
            _ => Err(path.to_owned()),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_payload_reads_back_as_the_same_name_and_spec() {
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
    fn a_response_can_be_sent_back_without_losing_hidden_values() {
        let accepted = json!({"config": {"db_password": "one", "port": 1}, "list": [{"api_token": "two"}],
            "url": "https://u:p@host/x"});
        let mut shown = hide_secrets(accepted.clone());
        assert_eq!(restore_hidden(Kind::Module, shown.clone(), Some(&accepted)).ok(), Some(accepted.clone()));
        shown["config"]["port"] = json!(2);
        let mut wanted = accepted.clone();
        wanted["config"]["port"] = json!(2);
        assert_eq!(restore_hidden(Kind::Module, shown.clone(), Some(&accepted)).ok(), Some(wanted));
        assert!(restore_hidden(Kind::Module, shown, None).is_err());
        shown = json!({"list": [{"x": 1}, {"api_token": HIDDEN}]});
        assert!(restore_hidden(Kind::Module, shown, Some(&accepted)).is_err());
    }

    #[test]
    fn a_payload_for_another_resource_is_rejected() {
        assert!(spec_value(Kind::Node, "a", &json!({"hostname": "b"})).is_err());
        assert!(spec_value(Kind::Node, "a", &json!([])).is_err());
        assert_eq!(
            spec_value(Kind::Node, "a", &json!({"name": "a", "spec": {"x": 1}})).ok(),
            Some(json!({"x": 1}))
        );
    }
}
