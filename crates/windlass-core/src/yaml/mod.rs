//! Reads YAML into a [`Tree`] with positions.
//!
//! This is the only module that uses a YAML parser. Its input is untrusted: every limit is checked while reading, so
//! that memory is proportional to the file, and reading does not recurse over the input. It knows no field names.
//! `stored` reads JSON that Windlass wrote, which needs no limits. [`format()`] formats a text; `edit` changes single
//! values and leaves every other byte unchanged.

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
pub(crate) use edit::{Edit, EditStep, EmptiedCollection, Insertion, NestedEdits, edit};
pub use format::format;
pub use scalar::Scalar;
pub(crate) use stored::from_json;
pub(crate) use text::{block_lines, inline};
pub use tree::{Entries, Items, NodeRef, Style, Tree, YamlContent};
pub use write::write;
pub(crate) use write::{NewValue, block};

/// The size limit of a file: a larger one is binary data by mistake, and the limit bounds the work for one file.
pub const MAX_FILE_BYTES: usize = 1 << 20;

/// The nesting limit. Real fleets need fewer than ten levels; code that reads a tree may recurse.
pub const MAX_DEPTH: usize = 64;

/// The size limit with aliases expanded. A 1 MiB file without aliases stays below it.
pub const MAX_EXPANDED_NODES: u32 = 1_000_000;
