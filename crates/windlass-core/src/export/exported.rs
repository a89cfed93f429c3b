//! A fleet as it was written, and what is not in it.

use std::fmt;

use crate::resource::ResourceKey;

/// A fleet as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The text of fleet.yaml. It may be larger than a file may be: see [`fleet_files`](super::fleet_files).
    pub text: String,
    /// What could not be said in it.
    pub left_out: Vec<OmittedResource>,
    /// How many values are masked.
    pub masked: usize,
}

/// A fleet as files, none larger than a file may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFiles {
    /// fleet.yaml, and what it includes.
    pub files: Vec<ExportedFile>,
    /// What could not be said in them.
    pub left_out: Vec<OmittedResource>,
    /// How many values are masked.
    pub masked: usize,
}

/// One file of a fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Its path, relative to the fleet's root.
    pub path: String,
    /// Its content.
    pub text: String,
}

/// A resource that fleet.yaml cannot declare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmittedResource {
    /// Which resource.
    pub key: ResourceKey,
    /// Why it cannot be declared.
    pub why: OmissionReason,
}

/// Why a resource cannot be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmissionReason {
    /// It stands inside a network, and the network is not there.
    NetworkMissing,
    /// Its values are nested deeper than a file may nest them.
    TooDeep,
    /// It alone is larger than a file may be.
    TooLarge,
}

impl fmt::Display for OmittedResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            OmissionReason::NetworkMissing => "its network is missing from the export",
            OmissionReason::TooDeep => "its values are nested too deep for a file",
            OmissionReason::TooLarge => "it is too large for a file",
        };
        write!(f, "{}: {why}", self.key)
    }
}
