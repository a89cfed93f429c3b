//! Explains kinds, fields and problem codes: the topics of `windlass explain`.

use serde_json::Value;

use crate::code::Code;
use crate::gate::Policy;
use crate::manifest::FleetFile;
use crate::resource::Kind;
use crate::shape::{ChoiceDescription, Description, FieldDescription, Record, RecordDescription, nearest};

/// Something that can be explained.
#[derive(Clone, Debug)]
pub enum Topic {
    /// A record with fields: a kind, or the file itself.
    Record {
        /// The name of the topic.
        title: String,
        /// The record.
        record: RecordDescription,
    },
    /// One field.
    Field {
        /// The name of the topic.
        title: String,
        /// The field.
        field: FieldDescription,
    },
    /// A problem code.
    Code(Code),
}

/// The topic does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown kind, field or code `{asked}`")]
pub struct UnknownTopic {
    /// The name that was requested.
    pub asked: String,
    /// A similar name.
    pub near: Option<String>,
    /// The names that exist.
    pub known: Vec<String>,
}

/// The names of the top-level topics: `fleet`, the kinds and `policy`.
pub fn topics() -> Vec<(&'static str, String)> {
    let kinds = Kind::ALL.iter().map(|kind| (kind.slug(), kind.description().text()));
    let fleet = ("fleet", FleetFile::description().text());
    std::iter::once(fleet).chain(kinds).chain([("policy", Policy::description().text())]).collect()
}

/// Looks up `fleet`, a kind (`node`, `nodes`), a field (`node.labels`, `bundle.rollout.waves`) or a code.
pub fn explain(asked: &str) -> Result<Topic, UnknownTopic> {
    if let Some(code) = Code::from_slug(asked) {
        return Ok(Topic::Code(code));
    }
    let mut parts = asked.split('.');
    let first = parts.next().unwrap_or_default();
    let mut record = record_named(first).ok_or_else(|| unknown_top(asked, first))?;
    let mut field: Option<FieldDescription> = None;
    for part in parts {
        if let Some(outer) = &field {
            let shape = (outer.shape)();
            record = shape.record().cloned().ok_or_else(|| unknown_field(asked, part, &[]))?;
        }
        field = Some(record.field(part).cloned().ok_or_else(|| unknown_field(asked, part, &record.fields))?);
    }
    let title = asked.to_owned();
    Ok(match field {
        Some(field) => Topic::Field { title, field },
        None => Topic::Record { title, record },
    })
}

fn record_named(word: &str) -> Option<RecordDescription> {
    match word {
        "fleet" | "fleet.yaml" => Some(FleetFile::description()),
        "policy" => Some(Policy::description()),
        _ => Kind::from_word(word).map(Kind::description),
    }
}

fn unknown_top(asked: &str, word: &str) -> UnknownTopic {
    let known: Vec<&str> = topics().iter().map(|(name, _)| *name).collect();
    let near = nearest(word, known.iter().copied().chain(Code::ALL.iter().map(|code| code.slug())));
    UnknownTopic {
        asked: asked.to_owned(),
        near: near.map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

fn unknown_field(asked: &str, word: &str, fields: &[FieldDescription]) -> UnknownTopic {
    let prefix = asked.rsplit_once(&format!(".{word}")).map_or("", |(prefix, _)| prefix);
    let near = nearest(word, fields.iter().map(|field| field.name));
    UnknownTopic {
        asked: asked.to_owned(),
        near: near.map(|near| format!("{prefix}.{near}")),
        known: fields.iter().map(|field| format!("{prefix}.{}", field.name)).collect(),
    }
}

/// A field's default in words; `None` if it has none.
pub fn default_text(field: &FieldDescription) -> Option<String> {
    match field.default.as_ref()? {
        Value::Null => Some("not set".to_owned()),
        Value::String(text) if text.is_empty() => Some("empty".to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Array(items) if items.is_empty() => Some("empty".to_owned()),
        Value::Object(map) if map.is_empty() => Some("empty".to_owned()),
        other => Some(other.to_string()),
    }
}

/// The words a field allows, if it is a choice.
pub fn choices(field: &FieldDescription) -> Vec<ChoiceDescription> {
    match (field.shape)() {
        Description::Choice(words) => words,
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_fields_nested_fields_and_codes_are_found() {
        for asked in [
            "fleet",
            "node",
            "nodes",
            "node.labels",
            "bundle.rollout.waves.name",
            "policy.rules.windows.timezone",
            "fleet.sdwan.networks.peers.host",
        ] {
            let found = explain(asked);
            assert_eq!(found.is_ok(), !asked.ends_with(".host"), "{asked}");
        }
        assert!(matches!(explain("unknown-key"), Ok(Topic::Code(Code::UnknownKey))));
    }

    #[test]
    fn a_slip_is_answered_with_what_was_meant() {
        assert_eq!(explain("node.lables").unwrap_err().near.as_deref(), Some("node.labels"));
        assert_eq!(explain("nod").unwrap_err().near.as_deref(), Some("node"));
    }

    #[test]
    fn every_field_of_every_record_is_documented_with_an_example_that_is_yaml() {
        let mut stack = vec![FleetFile::description(), Policy::description()];
        stack.extend(Kind::ALL.iter().map(|kind| kind.description()));
        while let Some(record) = stack.pop() {
            assert!(!record.text().is_empty(), "{}", record.name);
            for field in &record.fields {
                assert!(field.text().len() > 5, "{}.{}", record.name, field.name);
                let (tree, findings) = crate::yaml::parse(field.example);
                assert!(tree.is_some() && findings.is_empty(), "{}.{}", record.name, field.name);
                stack.extend((field.shape)().record().cloned());
            }
        }
    }
}
