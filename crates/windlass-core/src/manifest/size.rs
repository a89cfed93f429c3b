//! The size of a fleet, added up while its files are read, so that reading stops at the limit.

use super::MAX_RESOURCES;
use super::file::FileManifest;

/// The number of values of one fleet: about forty for each resource it may declare. A value takes two bytes in a file
/// and about fifty in memory.
pub const MAX_VALUES: usize = 4_000_000;

/// The size of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FleetSize {
    /// Resources, valid or not.
    pub resources: usize,
    /// Values of every kind, keys included.
    pub values: usize,
}

impl FleetSize {
    /// Adds a file.
    pub fn plus(self, file: &FileManifest) -> FleetSize {
        FleetSize {
            resources: self.resources + file.declarations.len() + file.invalid.len(),
            values: self.values + file.values,
        }
    }

    /// Whether the fleet exceeds the limits.
    pub fn is_too_large(self) -> bool {
        self.resources > MAX_RESOURCES || self.values > MAX_VALUES
    }
}
