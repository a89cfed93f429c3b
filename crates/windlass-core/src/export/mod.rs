//! Accepted state → fleet.yaml: the files that declare exactly these resources.
//!
//! What is written reads back to the same digests, in either form, and is already laid out as `windlass fmt` would.
//! What fleet.yaml has no way to say is left out and named in the result, never bent to fit.

mod fleet;
mod node;

mod split;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;

use crate::resource::{ResourceKey, Spec};
use crate::yaml::MAX_FILE_BYTES;

/// How sections are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As lists whose items carry the name.
    List,
    /// As maps keyed by name.
    Map,
}

/// What becomes of values that look like secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenValues {
    /// They are written like all others.
    Shown,
    /// They are masked and counted. Such files are refused where fleets are read.
    Masked,
}

/// A fleet as one text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// The text of fleet.yaml. It may be larger than a file may be: see [`fleet_files`].
    pub text: String,
    /// What could not be said in it.
    pub left_out: Vec<LeftOut>,
    /// How many values are masked.
    pub masked: usize,
}

/// A fleet as files, none larger than a file may be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFiles {
    /// fleet.yaml, and what it includes.
    pub files: Vec<ExportedFile>,
    /// What could not be said in them.
    pub left_out: Vec<LeftOut>,
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
pub struct LeftOut {
    /// Which resource.
    pub key: ResourceKey,
    /// Why it cannot be declared.
    pub why: WhyLeftOut,
}

/// Why a resource cannot be declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyLeftOut {
    /// It stands inside a network, and the network is not there.
    NetworkMissing,
    /// Its values are nested deeper than a file may nest them.
    TooDeep,
    /// It alone is larger than a file may be.
    TooLarge,
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self.why {
            WhyLeftOut::NetworkMissing => "its network is not there to declare it in",
            WhyLeftOut::TooDeep => "its values are nested deeper than a file may nest them",
            WhyLeftOut::TooLarge => "it is larger than a file may be",
        };
        write!(f, "{}: {why}", self.key)
    }
}

/// The fleet that declares these resources, as one text.
pub fn fleet_yaml<'r>(
    account: &str,
    resources: impl IntoIterator<Item = (&'r str, &'r Spec)>,
    form: Form,
    values: HiddenValues,
) -> Export {
    let fleet = fleet::Fleet::of(resources, form, values);
    Export { text: fleet.text(account), left_out: fleet.left_out, masked: fleet.masked }
}

/// The fleet that declares these resources, as files: fleet.yaml alone, or with `fleet.d/*.yaml` where one file would
/// be too large.
pub fn fleet_files<'r>(
    account: &str,
    resources: impl IntoIterator<Item = (&'r str, &'r Spec)>,
    form: Form,
    values: HiddenValues,
) -> ExportedFiles {
    split::split(account, fleet::Fleet::of(resources, form, values), MAX_FILE_BYTES)
}
