//! Reads fleet.yaml and returns the desired state, with places for problems.
//!
//! [`read_file`] turns one file's bytes into declarations; it depends on nothing else, so its result can be cached
//! while the bytes stay the same ([`ReadCache`]). [`assemble`] joins the files of a fleet and checks everything that
//! needs more than one declaration: names, references, pins, networks. Both collect every problem and do not stop at
//! the first. The accepted state is not known here.

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

/// The name of a fleet's root file.
pub const FLEET_FILE: &str = "fleet.yaml";

/// The total size of fleet.yaml and its included files.
pub const MAX_TOTAL_BYTES: usize = 64 << 20;

/// The number of files that fleet.yaml may include.
pub const MAX_FILES: usize = 512;

/// The number of resources of one repository: what a plan and a review can handle.
pub const MAX_RESOURCES: usize = 100_000;
