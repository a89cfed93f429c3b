//! An exported fleet, and the resources it omits.

use std::fmt;

use crate::resource::ResourceKey;

/// A fleet as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The text of fleet.yaml. It may exceed the size limit of a file: see [`fleet_files`](super::fleet_files).
    pub text: String,
    /// The resources that it cannot declare.
    pub left_out: Vec<OmittedResource>,
    /// The number of masked values.
    pub masked: usize,
}

/// A fleet as files within the size limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFiles {
    /// fleet.yaml, and the files it includes.
    pub files: Vec<ExportedFile>,
    /// The resources that they cannot declare.
    pub left_out: Vec<OmittedResource>,
    /// The number of masked values.
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
    /// The resource.
    pub key: ResourceKey,
    /// The reason.
    pub why: OmissionReason,
}

/// Why a resource cannot be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmissionReason {
    /// It belongs to a network that is not exported.
    NetworkMissing,
    /// Its values are nested deeper than a file allows.
    TooDeep,
    /// Its entry exceeds the size limit of a file.
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
