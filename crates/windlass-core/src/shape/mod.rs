//! Shapes: one declaration per type from which reading, writing and documentation follow.
//!
//! A type that implements [`Shape`] can be read from YAML with all problems collected, be written as canonical JSON,
//! and describe itself. From that one description come unknown-key hints, the JSON Schema, `windlass explain` and the
//! reference pages, so that they always agree with what is accepted. Records declare their fields with `record!`, fixed
//! words with `choice!`, checked text by implementing [`TextValue`].

mod bytes;
mod canonical;
mod collection;
mod decode;
mod describe;
mod free;
mod invalid_text;
mod sibling_keys;
#[macro_use]
mod macros;
mod text;

pub use bytes::canonical_json;
pub use canonical::{Canonical, Defaults};
pub use collection::Bounded;
pub use decode::{Decoder, Segment, nearest};
pub use describe::{ChoiceDescription, Description, FieldDescription, RecordDescription, SectionDescription};
pub use free::FreeSettings;
pub use invalid_text::InvalidText;
pub use sibling_keys::{SiblingKeys, UnknownKeys};
pub use text::TextValue;

pub(crate) use canonical::sorted_order;
pub(crate) use decode::path_text;
pub(crate) use macros::{choice, record};

use crate::yaml::NodeRef;

/// A value that can be read, written and described.
pub trait Shape: Sized {
    /// Decodes a node. Returns `None` if it is invalid, after reporting the problem.
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self>;

    /// Writes the canonical form.
    fn write(&self, out: &mut Canonical);

    /// The description for editors, `explain` and the reference.
    fn describe() -> Description;
}

/// A map with known keys.
pub trait Record: Shape {
    /// Decodes a map's fields. An unknown key is reported and does not affect the other keys.
    fn decode_fields<'t>(node: NodeRef<'t>, beside: SiblingKeys, decoder: &mut Decoder<'t>) -> Option<Self>;

    /// The description of the record's fields.
    fn description() -> RecordDescription;
}
