//! Free-form settings of modules and charts.

use std::collections::BTreeMap;

use serde_json::{Map, Number, Value};

use super::{Canonical, Decoder, Description, Segment, Shape};
use crate::diagnostic::{Code, Finding};
use crate::yaml::{NodeRef, Scalar, YamlContent};

/// A map of plain values under free names. Secrets are searched for and reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FreeSettings(pub BTreeMap<String, Value>);

impl Shape for FreeSettings {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        decoder.mapping(node)?;
        match decode_value(node, decoder)? {
            Value::Object(map) => Some(FreeSettings(map.into_iter().collect())),
            _ => None,
        }
    }

    fn write(&self, out: &mut Canonical) {
        out.json(&self.0);
    }

    fn describe() -> Description {
        Description::Map { key: "text", key_pattern: None, value: Box::new(Description::Free) }
    }
}

impl Shape for Value {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        decode_value(node, decoder)
    }

    fn write(&self, out: &mut Canonical) {
        out.json(self);
    }

    fn describe() -> Description {
        Description::Free
    }
}

fn decode_value<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Value> {
    match node.content() {
        YamlContent::Scalar(Scalar::Null) => Some(Value::Null),
        YamlContent::Scalar(Scalar::Bool(value)) => Some(Value::Bool(value)),
        YamlContent::Scalar(Scalar::Int(value)) => Some(Value::Number(value.into())),
        YamlContent::Scalar(Scalar::Float(value)) => {
            Some(Number::from_f64(value).map_or(Value::Null, Value::Number))
        }
        YamlContent::Scalar(Scalar::Unrepresentable(text)) => {
            let message = format!("the number {} is out of range", decoder.shown(text));
            let finding = Finding::new(Code::BadValue, node.span(), message);
            decoder.report(finding.help("use a finite number of at most 64 bits, or put it in quotes"));
            None
        }
        YamlContent::Scalar(Scalar::Text(_)) => String::decode(node, decoder).map(Value::String),
        YamlContent::Sequence(items) => {
            let mut values = Vec::with_capacity(items.len());
            for (index, item) in items.enumerate() {
                values.push(decoder.within(Segment::Index(index), |decoder| decode_value(item, decoder)));
            }
            values.into_iter().collect::<Option<Vec<Value>>>().map(Value::Array)
        }
        YamlContent::Mapping(entries) => {
            let mut map = Map::new();
            let mut sound = true;
            for (key, value) in entries {
                let text = key.scalar_text().unwrap_or_default();
                decoder.within(Segment::Key(text), |decoder| {
                    decoder.look_for_secret(text, value);
                    match decode_value(value, decoder) {
                        Some(value) => {
                            map.insert(text.to_owned(), value);
                        }
                        None => sound = false,
                    }
                });
            }
            sound.then_some(Value::Object(map))
        }
    }
}
