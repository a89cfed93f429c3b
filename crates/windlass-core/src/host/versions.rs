//! The versions of modules, and which of them a pin selects.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::package::BlobDigest;
use crate::known::KnownModules;
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
    /// The versions of an account's modules. `package_of` says the digest of a version's content; a version whose content
    /// is not packed yet is left out.
    pub fn of(
        known: &KnownModules,
        mut package_of: impl FnMut(&str, &Arc<ModuleSpec>) -> Option<BlobDigest>,
    ) -> ModuleVersions {
        let mut versions = ModuleVersions::default();
        for (name, module) in known.iter() {
            let unnumbered = module.unnumbered.iter().map(|content| (None, Lifecycle::Live, content));
            let numbered = module.versions.iter();
            let numbered = numbered.map(|(number, known)| (Some(number), known.state, &known.content));
            for (number, state, content) in unnumbered.chain(numbered) {
                if let Some(package) = package_of(name, content) {
                    let (version, spec) = (number.cloned(), Arc::clone(content));
                    versions.add(name, ModuleVersion { version, state, spec, package });
                }
            }
        }
        versions
    }

    /// Adds a version.
    pub fn add(&mut self, module: &str, version: ModuleVersion) {
        self.by_module.entry(module.to_owned()).or_default().push(version);
    }

    /// The versions of a module, as they were added.
    pub fn versions_of(&self, module: &str) -> &[ModuleVersion] {
        self.by_module.get(module).map_or(&[], Vec::as_slice)
    }

    /// The version that a pin selects: the exact one, or the one that was found when the pin was accepted, or the newest in
    /// a state if none was.
    ///
    /// A retired version is found too, because retired versions are kept while anything uses them.
    pub fn select(&self, pin: &ModulePin) -> Option<&ModuleVersion> {
        let versions = self.versions_of(pin.name.as_str()).iter();
        if let Some(version) = pin.version() {
            return versions.clone().find(|one| one.version.as_ref() == Some(version));
        }
        let state = match &pin.selector {
            Selector::State(state) => *state,
            Selector::Unpinned | Selector::Exact(_) => Lifecycle::Live,
        };
        newest(versions.filter(|one| one.state == state))
    }
}

/// A version without a number is older than every other.
fn newest<'v>(versions: impl Iterator<Item = &'v ModuleVersion>) -> Option<&'v ModuleVersion> {
    versions.max_by(|one, other| one.version.cmp(&other.version))
}
