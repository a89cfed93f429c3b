//! Sections: a map keyed by name, or a list whose items contain the name. Both have the same meaning.

use super::MAX_RESOURCES;
use crate::diagnostic::{Code, Finding};
use crate::origin::Slot;
use crate::quote::quoted;
use crate::shape::{
    Canonical, Decoder, Description, Record, SectionDescription, Segment, Shape, SiblingKeys, TextValue,
};
use crate::yaml::{NodeRef, YamlContent};

/// An item of a section.
pub trait SectionItem: Sized {
    /// The type of its name.
    type Name: TextValue;
    /// The key of the name in the list form.
    const NAME_KEY: &'static str;

    /// Decodes the item; the section decodes the name.
    fn decode_item<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self>;

    /// The description of an item, without the name.
    fn describe_item() -> Description;
}

/// A named item and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<S> {
    /// Its name, in canonical spelling.
    pub name: String,
    /// Its position in the section.
    pub slot: Slot,
    /// The item, or `None` if it was invalid, which is already reported.
    pub value: Option<S>,
}

/// All entries of a section, valid or not: a name with invalid fields is still declared.
#[derive(Clone, Debug, PartialEq)]
pub struct Section<S> {
    /// In the order of the file.
    pub entries: Vec<Entry<S>>,
}

impl<S> Default for Section<S> {
    fn default() -> Self {
        Section { entries: Vec::new() }
    }
}

impl<S: SectionItem> Shape for Section<S> {
    /// Never fails: invalid entries are reported and left out.
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        let entries = match node.content() {
            YamlContent::Mapping(entries) => entries
                .take(MAX_RESOURCES + 1)
                .filter_map(|(key, value)| {
                    let text = key.scalar_text().unwrap_or_default();
                    decoder.within(Segment::Key(text), |decoder| keyed_entry(key, value, decoder))
                })
                .collect(),
            YamlContent::Sequence(items) => items
                .take(MAX_RESOURCES + 1)
                .enumerate()
                .filter_map(|(index, item)| {
                    decoder.within(Segment::Index(index), |decoder| listed_entry(index, item, decoder))
                })
                .collect(),
            YamlContent::Scalar(_) if node.is_null() => Vec::new(),
            YamlContent::Scalar(_) => {
                decoder.wrong_type::<()>(node, "a map keyed by name or a list");
                Vec::new()
            }
        };
        Some(Section { entries })
    }

    /// Sections are split into resources; only those are written.
    fn write(&self, out: &mut Canonical) {
        out.object(|_| {});
    }

    fn describe() -> Description {
        Description::Section(SectionDescription {
            name_key: S::NAME_KEY,
            name_what: S::Name::WHAT,
            name_pattern: S::Name::PATTERN,
            value: Box::new(S::describe_item()),
        })
    }
}

fn keyed_entry<'t, S: SectionItem>(
    key: NodeRef<'t>,
    value: NodeRef<'t>,
    decoder: &mut Decoder<'t>,
) -> Option<Entry<S>> {
    let text = key.scalar_text().unwrap_or_default();
    let name = read_name::<S>(text, key, decoder);
    if let Some(repeated) = value.get(S::NAME_KEY)
        && repeated.scalar_text() != Some(text)
    {
        let found = repeated.scalar_text().unwrap_or("something else");
        let message = format!("named {} here, but {} by its key", quoted(found), quoted(text));
        let finding = Finding::new(Code::NameMismatch, repeated.span(), message);
        let help = format!("remove `{}`; the key is the name", S::NAME_KEY);
        decoder.report_within(Segment::Key(S::NAME_KEY), finding.help(help));
    }
    let value = S::decode_item(value, decoder);
    Some(Entry { name: name?, slot: Slot::Key, value })
}

fn listed_entry<'t, S: SectionItem>(
    index: usize,
    item: NodeRef<'t>,
    decoder: &mut Decoder<'t>,
) -> Option<Entry<S>> {
    decoder.mapping(item)?;
    let name = match item.get(S::NAME_KEY) {
        Some(node) => decoder.within(Segment::Key(S::NAME_KEY), |decoder| {
            let text = decoder.text(node)?;
            read_name::<S>(text, node, decoder)
        }),
        None => {
            decoder.missing_key(item, S::NAME_KEY);
            None
        }
    };
    let value = S::decode_item(item, decoder);
    let slot = Slot::Index(u32::try_from(index).unwrap_or(u32::MAX));
    Some(Entry { name: name?, slot, value })
}

fn read_name<'t, S: SectionItem>(text: &str, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<String> {
    match S::Name::read(text) {
        Ok(name) => Some(name.to_string()),
        Err(complaint) => {
            decoder.report_invalid_text(node, complaint);
            None
        }
    }
}

/// Decodes a record whose only further key is the name.
pub(super) fn decode_named<'t, R: Record>(
    name_key: &'static str,
    node: NodeRef<'t>,
    decoder: &mut Decoder<'t>,
) -> Option<R> {
    R::decode_fields(node, SiblingKeys::name(name_key), decoder)
}
