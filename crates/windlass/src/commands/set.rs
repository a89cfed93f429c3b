//! `windlass set` and `delete`: changing accepted resources by hand.

use std::path::Path;

use serde_json::{Map, Value, json};
use windlass_api::endpoint::{Operation, ResourceVerb};
use windlass_api::noun::Noun;
use windlass_api::types::{ResourceInfo, WaitingChange};

use super::confirm::{ConfirmAnswer, confirm};
use super::find;
use super::input::{YamlInput, read_text, read_yaml};
use super::remote::ServerConnection;
use crate::args::resource::{DeleteOptions, SetOptions};
use crate::exit::{CommandError, Exit};
use crate::view::{self, Terminal};

/// What to make of a resource.
enum ResourceUpdate {
    /// These fields are changed.
    Fields(Value),
    /// It becomes this as a whole.
    Whole(Value),
}

impl ResourceUpdate {
    fn value(&self) -> &Value {
        match self {
            ResourceUpdate::Fields(value) | ResourceUpdate::Whole(value) => value,
        }
    }
}

pub(super) fn set(options: &SetOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let noun = find::noun(&options.kind)?;
    let read = match &options.file {
        Some(file) => whole(file, &remote.terminal)?,
        None => Some(ResourceUpdate::Fields(fields(&options.fields, &remote.terminal)?)),
    };
    let Some(wanted) = read else { return Ok(Exit::Problems) };
    let show = remote.call(Operation::Resource(noun, ResourceVerb::Show), &[&options.name]);
    let (call, done) = match remote.ask_if_there(show)? {
        Some(answer) => {
            let current: ResourceInfo = find::unwrapped(&answer, noun.singular(), remote)?;
            let verb = if matches!(wanted, ResourceUpdate::Whole(_)) {
                ResourceVerb::Replace
            } else {
                ResourceVerb::Patch
            };
            let call = remote.call(Operation::Resource(noun, verb), &[&options.name]);
            let call = call.header("if-match", &current.generation.to_string());
            (call.body(&json!({ noun.singular(): wanted.value() })), "changed")
        }
        None if options.create => {
            let call = remote.call(Operation::Resource(noun, ResourceVerb::Create), &[]);
            (call.body(&json!({ noun.singular(): named(&options.name, wanted.value()) })), "created")
        }
        None => {
            let what = noun.kind().slug();
            return Err(find::not_found(what, &options.name, "add --create to create it"));
        }
    };
    let answer = remote.ask(call.query_if("reason", options.reason.as_ref()))?;
    tell(&answer, noun, done, remote)
}

fn tell(answer: &Value, noun: Noun, done: &str, remote: &ServerConnection) -> Result<Exit, CommandError> {
    if answer.get("proposal").is_some() {
        return tell_waiting(answer, remote);
    }
    let changed: ResourceInfo = find::unwrapped(answer, noun.singular(), remote)?;
    remote.show::<Value>(answer, |_, terminal| {
        view::resource::one(&changed, terminal)?;
        view::note(&format!("{done} directly; `windlass drift` shows how it differs from git"))
    })?;
    Ok(Exit::Fine)
}

/// Tells of a change that waits as a proposal.
fn tell_waiting(answer: &Value, remote: &ServerConnection) -> Result<Exit, CommandError> {
    remote.show::<WaitingChange>(answer, |waiting, _| view::proposal::waiting(waiting))?;
    Ok(Exit::Fine)
}

fn named(name: &str, spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Value::Object(fields) = &mut spec {
        fields.insert("name".to_owned(), name.into());
    }
    spec
}

fn whole(file: &Path, terminal: &Terminal) -> Result<Option<ResourceUpdate>, CommandError> {
    let text = read_text(file)?;
    match read_yaml(&file.to_string_lossy(), &text, terminal)? {
        YamlInput::Valid(spec) if spec.is_object() => Ok(Some(ResourceUpdate::Whole(spec))),
        YamlInput::Valid(_) => {
            let message = format!("{} does not contain the fields of a resource", file.display());
            Err(CommandError::failed(
                message,
                "write `field: value` lines, as `windlass get KIND NAME` prints them",
            ))
        }
        YamlInput::ProblemsReported => Ok(None),
    }
}

/// `labels.tier=edge` and the like, as one object.
fn fields(assignments: &[String], terminal: &Terminal) -> Result<Value, CommandError> {
    let mut all = Value::Object(Map::new());
    for assignment in assignments {
        let wrong = |message: String| {
            CommandError::usage(message, "write for example `region=eu-west-1` or `labels.tier=edge`")
        };
        let (path, text) =
            assignment.split_once('=').ok_or_else(|| wrong(format!("`{assignment}` has no value")))?;
        if path.split('.').any(str::is_empty) {
            return Err(wrong(format!("`{path}` is not a field")));
        }
        let YamlInput::Valid(value) = read_yaml(path, text, terminal)? else {
            return Err(wrong(format!("the value of `{path}` is not YAML")));
        };
        let mut place = &mut all;
        for key in path.split('.') {
            if !place.is_object() {
                return Err(wrong(format!("`{path}` conflicts with another field")));
            }
            place = &mut place[key];
            if place.is_null() {
                *place = Value::Object(Map::new());
            }
        }
        *place = value;
    }
    Ok(all)
}

pub(super) fn delete(options: &DeleteOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let noun = find::noun(&options.kind)?;
    let show = remote.call(Operation::Resource(noun, ResourceVerb::Show), &[&options.name]);
    let current: ResourceInfo = find::unwrapped(&remote.ask(show)?, noun.singular(), remote)?;
    let owner = match &current.owner {
        Some(owner) => format!(" ({} declares it and will propose it again)", owner.repository_name),
        None => String::new(),
    };
    let question = format!("Delete {} {}{owner}?", current.kind, current.name);
    if confirm(&question, options.yes.into())? == ConfirmAnswer::Refused {
        return Ok(Exit::Problems);
    }
    let call = remote.call(Operation::Resource(noun, ResourceVerb::Delete), &[&options.name]);
    let call = call.query_if("reason", options.reason.as_ref());
    let answer = remote.text(call.header("if-match", &current.generation.to_string()))?;
    if let Ok(waiting) = serde_json::from_str::<Value>(&answer)
        && waiting.get("proposal").is_some()
    {
        return tell_waiting(&waiting, remote);
    }
    remote.print_message(&format!("deleted {} {}", current.kind, current.name))?;
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(assignments: &[&str]) -> Result<Value, CommandError> {
        let assignments: Vec<String> = assignments.iter().map(|text| (*text).to_owned()).collect();
        fields(&assignments, &Terminal { width: 80 })
    }

    #[test]
    fn assignments_become_one_object_with_yaml_values() {
        let value = read(&["region=eu", "labels.tier=edge", "labels.n=1", "config={a: [1, b]}", "template="]);
        assert_eq!(
            value.unwrap(),
            json!({"region": "eu", "labels": {"tier": "edge", "n": 1}, "config": {"a": [1, "b"]}, "template": null})
        );
    }

    #[test]
    fn what_is_no_assignment_is_refused() {
        for wrong in [&["region"][..], &["=x"], &["a..b=1"], &["a=1", "a.b=2"]] {
            assert!(read(wrong).is_err(), "{wrong:?}");
        }
    }
}
