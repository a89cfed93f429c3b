//! fleet.yaml text → what the fleet should be, with places.
//!
//! [`read_file`] turns one file's bytes into declarations; it depends on nothing else, so its result can be kept for
//! as long as the bytes stay the same ([`ReadCache`]). [`assemble`] joins the files of a fleet and checks everything that
//! needs more than one declaration: names, references, pins, networks. Both collect every problem and stop at none.
//! Nothing here knows the accepted state.

mod assemble;
mod assembly;
mod check;
mod context;
mod document;
mod file;
mod fleet;
mod include;
mod locate;
mod read_cache;
mod section;
mod size;

pub use assemble::assemble;
pub use context::ReadContext;
pub use document::FleetFile;
pub use file::{Declaration, FileManifest, FileRole, SourceFile, read_file};
pub use fleet::{Fleet, NeededPath};
pub use include::{IncludePattern, Selection};
pub use read_cache::ReadCache;
pub use section::{Entry, Section, SectionItem};
pub use size::{FleetSize, MAX_VALUES};

pub use crate::desired::ProviderConfig;
pub use crate::origin::{DeclarationOrigin, Slot};

/// Name of the file every fleet begins with.
pub const FLEET_FILE: &str = "fleet.yaml";

/// fleet.yaml and what it includes may hold this many bytes together.
pub const MAX_TOTAL_BYTES: usize = 64 << 20;

/// fleet.yaml may include this many files.
pub const MAX_FILES: usize = 512;

/// One repository may declare this many resources: what a plan and a review can still handle.
pub const MAX_RESOURCES: usize = 100_000;
