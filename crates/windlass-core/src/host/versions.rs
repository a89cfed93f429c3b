//! The versions of modules, and which of them a pin selects.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::package::BlobDigest;
use crate::resource::ModuleSpec;
use crate::value::{Lifecycle, ModulePin, Selector, Version};

/// A version of a module: immutable content and a state.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleVersion {
    /// Its number; a module may have a single version without one.
    pub version: Option<Version>,
    /// Its state.
    pub state: Lifecycle,
    /// What it makes of a machine.
    pub spec: Arc<ModuleSpec>,
    /// The digest of its content.
    pub package: BlobDigest,
}

/// Every version of every module of an account.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModuleVersions {
    by_module: BTreeMap<String, Vec<ModuleVersion>>,
}

impl ModuleVersions {
    /// Adds a version.
    pub fn add(&mut self, module: &str, version: ModuleVersion) {
        self.by_module.entry(module.to_owned()).or_default().push(version);
    }

    /// The versions of a module, as they were added.
    pub fn of(&self, module: &str) -> &[ModuleVersion] {
        self.by_module.get(module).map_or(&[], Vec::as_slice)
    }

    /// The version that a pin selects: the exact one, or the newest in a state.
    ///
    /// An exact pin finds a retired version too, because retired versions are kept while anything uses them.
    pub fn select(&self, pin: &ModulePin) -> Option<&ModuleVersion> {
        let versions = self.of(pin.name.as_str()).iter();
        match &pin.selector {
            Selector::Exact(exact) => versions.clone().find(|one| one.version.as_ref() == Some(exact)),
            Selector::State(state) => newest(versions.filter(|one| one.state == *state)),
            Selector::Unpinned => newest(versions.filter(|one| one.state == Lifecycle::Live)),
        }
    }
}

/// A version without a number is older than every other.
fn newest<'v>(versions: impl Iterator<Item = &'v ModuleVersion>) -> Option<&'v ModuleVersion> {
    versions.max_by(|one, other| one.version.cmp(&other.version))
}
