//! Reads JSON that Windlass itself wrote into a [`Tree`].
//!
//! Positions have no meaning here, and the only limit is that of depth, which the JSON parser has: everything that was
//! once read from a file can be read again. Must not be used for untrusted input.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};

use super::MAX_EXPANDED_NODES;
use super::tree::{NodeData, Style, Tree, YamlNode};

/// The tree of a JSON document; `None` if the text is not exactly one document, or has a duplicate key.
pub(crate) fn from_json(text: &str) -> Option<Tree<'_>> {
    let mut planter = JsonTreeBuilder { tree: Tree::default(), is_sound: true };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let root = planter.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    planter.tree.root = root;
    planter.is_sound.then_some(planter.tree)
}

struct JsonTreeBuilder<'s> {
    tree: Tree<'s>,
    is_sound: bool,
}

impl<'s> JsonTreeBuilder<'s> {
    fn add(&mut self, content: NodeData<'s>) -> u32 {
        self.tree.nodes.push(YamlNode { content, start: 0, end: 0 });
        index(self.tree.nodes.len() - 1)
    }

    fn plain_scalar(&mut self, text: String) -> u32 {
        self.add(NodeData::Scalar(Cow::Owned(text), Style::Plain))
    }

    /// Stores children contiguously and returns their range.
    fn keep(&mut self, children: &[u32]) -> std::ops::Range<u32> {
        let first = index(self.tree.children.len());
        self.tree.children.extend_from_slice(children);
        first..index(self.tree.children.len())
    }
}

/// A stored spec has far fewer than four billion nodes: it came from a file of 1 MiB with at most a million expanded
/// nodes.
fn index(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

impl<'s> DeserializeSeed<'s> for &mut JsonTreeBuilder<'s> {
    type Value = u32;

    fn deserialize<D: Deserializer<'s>>(self, deserializer: D) -> Result<u32, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'s> Visitor<'s> for &mut JsonTreeBuilder<'s> {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<u32, E> {
        Ok(self.plain_scalar("null".to_owned()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<u32, E> {
        Ok(self.plain_scalar(value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<u32, E> {
        Ok(self.plain_scalar(value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u32, E> {
        Ok(self.plain_scalar(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<u32, E> {
        // JSON's spelling always has a fraction or an exponent, so that the number stays a float.
        Ok(self.plain_scalar(serde_json::Value::from(value).to_string()))
    }

    fn visit_str<E>(self, text: &str) -> Result<u32, E> {
        Ok(self.add(NodeData::Scalar(Cow::Owned(text.to_owned()), Style::Text)))
    }

    fn visit_borrowed_str<E>(self, text: &'s str) -> Result<u32, E> {
        Ok(self.add(NodeData::Scalar(Cow::Borrowed(text), Style::Text)))
    }

    fn visit_seq<A: SeqAccess<'s>>(self, mut items: A) -> Result<u32, A::Error> {
        let mut children = Vec::new();
        while let Some(item) = items.next_element_seed(&mut *self)? {
            children.push(item);
        }
        let children = self.keep(&children);
        Ok(self.add(NodeData::Sequence(Style::Flow, children)))
    }

    fn visit_map<A: MapAccess<'s>>(self, mut entries: A) -> Result<u32, A::Error> {
        let mut children = Vec::new();
        while let Some(key) = entries.next_key_seed(&mut *self)? {
            children.extend([key, entries.next_value_seed(&mut *self)?]);
        }
        let mut findings = Vec::new();
        // Stored values have neither aliases nor merge keys.
        let mut merges = MAX_EXPANDED_NODES;
        let children = self.tree.check_entries(&children, &mut merges, &mut findings);
        self.is_sound &= findings.is_empty();
        let children = self.keep(&children);
        Ok(self.add(NodeData::Mapping(Style::Flow, children)))
    }
}
