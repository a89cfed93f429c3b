//! What a run knows about the packages that it installs.

use std::collections::BTreeMap;

use windlass_core::host::{FieldDifference, HostItemId};

/// The packages of a run.
#[derive(Default)]
pub(crate) struct PackageBatch {
    /// Whether the run has tried to install all packages in one transaction.
    pub(crate) tried_all: bool,
    /// Packages that the run installed, by the index of the item: what differed before.
    pub(crate) installed: BTreeMap<usize, Vec<FieldDifference>>,
    /// Packages that the run removed together with another one: what differed before.
    pub(crate) removed: BTreeMap<HostItemId, Vec<FieldDifference>>,
}
