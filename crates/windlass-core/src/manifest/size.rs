//! How much a fleet declares, added up while its files are read, so that reading ends when it is too much.

use super::MAX_RESOURCES;
use super::file::FileManifest;

/// One fleet may hold this many values: about forty for each resource it may declare. A value in a file takes two bytes
/// there and some fifty in memory.
pub const MAX_VALUES: usize = 4_000_000;

/// What files declare together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetSize {
    /// Resources, sound or not.
    pub resources: usize,
    /// Values of every kind, keys included.
    pub values: usize,
}

impl FleetSize {
    /// With another file.
    pub fn plus(self, file: &FileManifest) -> FleetSize {
        FleetSize {
            resources: self.resources + file.declarations.len() + file.invalid.len(),
            values: self.values + file.values,
        }
    }

    /// Whether it is more than a fleet may have.
    pub fn is_too_large(self) -> bool {
        self.resources > MAX_RESOURCES || self.values > MAX_VALUES
    }
}
