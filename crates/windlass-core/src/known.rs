//! The resources that exist besides the files being read.

use std::collections::{BTreeMap, BTreeSet};

use crate::resource::{Kind, ResourceMap};
use crate::value::{Lifecycle, Version};

/// The resources that exist besides the files being read.
#[derive(Clone, Debug)]
pub struct KnownResources {
    /// Node platforms, by name.
    pub platforms: BTreeSet<String>,
    /// Resources that exist in Windlass.
    pub resources: ResourceMap<()>,
    /// Versions of modules that exist in Windlass.
    pub versions: BTreeMap<String, KnownVersions>,
}

/// The versions of one module.
#[derive(Clone, Debug, Default)]
pub struct KnownVersions {
    /// The versions, each with its lifecycle.
    pub versions: Vec<(Version, Lifecycle)>,
    /// Whether the list is complete: true on a server, false offline.
    pub complete: bool,
}

impl KnownResources {
    /// Whether a resource exists in Windlass.
    pub fn has(&self, kind: Kind, name: &str) -> bool {
        self.resources.contains(kind, name)
    }
}
