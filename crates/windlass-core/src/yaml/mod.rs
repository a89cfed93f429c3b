//! Text → [`Tree`]: YAML with places and nothing else.
//!
//! This is the only module that knows a YAML parser. It reads hostile bytes: every limit is checked while reading, so
//! memory stays in proportion to the file, and reading does not recurse over input. It knows no field names.
//! JSON of our own is read by `stored`, which needs none of the limits. [`format()`] goes from text to text, in one layout;
//! `edit` changes single values and leaves every other byte alone.

mod build;
mod edit;
mod entries;
mod findings;
mod format;
mod quick;
mod scalar;
mod stored;
mod text;
mod tree;
mod write;

pub use build::parse;
pub(crate) use edit::{Edit, EditStep, Emptied, Insertion, NestedEdits, edit};
pub use format::format;
pub use scalar::Scalar;
pub(crate) use stored::from_json;
pub(crate) use text::{block_lines, inline};
pub use tree::{Entries, Items, NodeRef, Style, Tree, YamlContent};
pub use write::write;
pub(crate) use write::{NewValue, block};

/// A file may hold 1 MiB: more is binary data by accident, and the limit bounds the work one file can cause.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// Values may be nested this deep. Real fleets need fewer than ten levels; every consumer of a tree may recurse.
pub const MAX_DEPTH: usize = 64;

/// What a file may grow to when its aliases are followed. A 1 MiB file without aliases stays below this.
pub const MAX_EXPANDED_NODES: u32 = 1_000_000;
