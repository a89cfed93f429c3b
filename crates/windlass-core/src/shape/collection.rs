//! Plain types and collections of shapes.

use std::collections::{BTreeMap, BTreeSet};

use super::{Canonical, Decoder, Description, Segment, Shape, TextValue};
use crate::diagnostic::{Code, Finding};
use crate::quote::quoted;
use crate::yaml::{NodeRef, Scalar, YamlContent};

impl Shape for String {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        let text = decoder.text(node)?;
        if crate::secret::is_private_key(text) {
            decoder.report(crate::secret::inline_finding(node.span(), "a private key"));
            return None;
        }
        Some(text.to_owned())
    }

    fn write(&self, out: &mut Canonical) {
        out.text(self);
    }

    fn describe() -> Description {
        Description::Text { what: "text", pattern: None }
    }
}

impl Shape for bool {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        match node.content() {
            YamlContent::Scalar(Scalar::Bool(value)) => Some(value),
            _ => decoder.wrong_type(node, "true or false"),
        }
    }

    fn write(&self, out: &mut Canonical) {
        out.json(self);
    }

    fn describe() -> Description {
        Description::Boolean
    }
}

/// A whole number between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bounded<const MIN: i64, const MAX: i64>(pub i64);

impl<const MIN: i64, const MAX: i64> Shape for Bounded<MIN, MAX> {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        match node.content() {
            YamlContent::Scalar(Scalar::Int(value)) if (MIN..=MAX).contains(&value) => Some(Bounded(value)),
            YamlContent::Scalar(Scalar::Int(value)) => {
                let message = format!("{value} is out of range");
                let help = format!("use a whole number from {MIN} to {MAX}");
                decoder.report(Finding::new(Code::BadValue, node.span(), message).help(help));
                None
            }
            YamlContent::Scalar(Scalar::Unrepresentable(text)) => {
                let message = format!("{} is out of range", quoted(text));
                let help = format!("use a whole number from {MIN} to {MAX}");
                decoder.report(Finding::new(Code::BadValue, node.span(), message).help(help));
                None
            }
            _ => decoder.wrong_type(node, "a whole number"),
        }
    }

    fn write(&self, out: &mut Canonical) {
        out.json(&self.0);
    }

    fn describe() -> Description {
        Description::Integer { min: MIN, max: MAX }
    }
}

impl<T: Shape> Shape for Option<T> {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        T::decode(node, decoder).map(Some)
    }

    fn write(&self, out: &mut Canonical) {
        match self {
            Some(value) => value.write(out),
            None => out.json(&()),
        }
    }

    fn describe() -> Description {
        T::describe()
    }
}

fn decode_items<'t, T: Shape>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Vec<T>> {
    let YamlContent::Sequence(items) = node.content() else { return decoder.wrong_type(node, "a list") };
    let mut values = Vec::with_capacity(items.len());
    let mut sound = true;
    for (index, item) in items.enumerate() {
        match decoder.within(Segment::Index(index), |decoder| T::decode(item, decoder)) {
            Some(value) => values.push(value),
            None => sound = false,
        }
    }
    sound.then_some(values)
}

fn write_items<'v, T: Shape + 'v>(items: impl Iterator<Item = &'v T>, out: &mut Canonical) {
    out.array(|out| {
        for item in items {
            item.write(out);
            out.next();
        }
    });
}

impl<T: Shape> Shape for Vec<T> {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        decode_items(node, decoder)
    }

    fn write(&self, out: &mut Canonical) {
        write_items(self.iter(), out);
    }

    fn describe() -> Description {
        Description::List(Box::new(T::describe()))
    }
}

impl<T: Shape + Ord> Shape for BTreeSet<T> {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        let items: Vec<T> = decode_items(node, decoder)?;
        let mut set = BTreeSet::new();
        let mut sound = true;
        for (index, item) in items.into_iter().enumerate() {
            if !set.insert(item) {
                let span = node.item(index).map_or(node.span(), NodeRef::span);
                let finding = Finding::new(Code::BadValue, span, "is listed twice");
                decoder.report_within(Segment::Index(index), finding.help("remove one of the two"));
                sound = false;
            }
        }
        sound.then_some(set)
    }

    fn write(&self, out: &mut Canonical) {
        write_items(self.iter(), out);
    }

    fn describe() -> Description {
        Description::Set(Box::new(T::describe()))
    }
}

impl<K: TextValue + Ord, V: Shape> Shape for BTreeMap<K, V> {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        let mut map = BTreeMap::new();
        let mut sound = true;
        for (key, value) in decoder.mapping(node)? {
            let text = key.scalar_text().unwrap_or_default();
            decoder.within(Segment::Key(text), |decoder| {
                // A key is text even if it looks like a number or a boolean.
                let read_key = match K::read(text) {
                    Ok(read) => Some(read),
                    Err(complaint) => {
                        decoder.report_invalid_text(key, complaint);
                        None
                    }
                };
                decoder.look_for_secret(text, value);
                let read_value = V::decode(value, decoder);
                sound &= read_key.is_some() && read_value.is_some();
                if let (Some(key), Some(value)) = (read_key, read_value) {
                    map.insert(key, value);
                }
            });
        }
        sound.then_some(map)
    }

    fn write(&self, out: &mut Canonical) {
        out.object(|out| {
            for (key, value) in self {
                out.key(&key.to_string());
                value.write(out);
            }
        });
    }

    fn describe() -> Description {
        Description::Map { key: K::WHAT, key_pattern: K::PATTERN, value: Box::new(V::describe()) }
    }
}
