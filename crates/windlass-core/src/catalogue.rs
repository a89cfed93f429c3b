//! The catalogue of every account: node platforms and a few modules, so that a first fleet works without own modules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

pub use crate::known::{KnownModule, KnownModules, KnownResources, KnownVersion, KnownVersions};
use crate::manifest::{FileManifest, FileRole, ReadContext, read_file};
use crate::resource::{ResourceMap, Spec};
use crate::value::Lifecycle;

/// The platforms every account knows.
pub const PLATFORMS: &[&str] = &[
    "debian-12-amd64",
    "debian-12-arm64",
    "debian-13-amd64",
    "debian-13-arm64",
    "ubuntu-22.04-amd64",
    "ubuntu-22.04-arm64",
    "ubuntu-24.04-amd64",
    "ubuntu-24.04-arm64",
];

/// The built-in modules, written as a fleet file.
pub static MODULES: LazyLock<FileManifest> =
    LazyLock::new(|| read_file("catalogue.yaml", include_bytes!("catalogue.yaml"), FileRole::Included));

/// The modules of the catalogue beside those that an account declares itself. An own module takes the place of the
/// catalogue's, which is retired then: only exact pins find it.
pub fn modules_beside<'o>(
    own: &'o BTreeSet<&'o str>,
) -> impl Iterator<Item = (&'static str, &'static Spec, Lifecycle)> + 'o {
    MODULES.declarations.iter().map(|declared| {
        let name = declared.key.name.as_str();
        let state = if own.contains(name) { Lifecycle::Retired } else { Lifecycle::Live };
        (name, declared.spec.as_ref(), state)
    })
}

impl KnownResources {
    /// Only the catalogue: all that is known offline.
    pub fn offline() -> KnownResources {
        let mut known = KnownResources {
            platforms: PLATFORMS.iter().map(|platform| (*platform).to_owned()).collect(),
            resources: ResourceMap::default(),
            versions: BTreeMap::new(),
        };
        for declaration in &MODULES.declarations {
            known.resources.insert(declaration.key.clone(), ());
        }
        known.set_versions(&KnownModules::catalogue());
        known.versions.values_mut().for_each(|versions| versions.complete = false);
        known
    }
}

impl KnownModules {
    /// The modules of the catalogue.
    pub fn catalogue() -> KnownModules {
        let mut known = KnownModules::default();
        known.add_catalogue();
        known
    }

    /// The modules of an account: what is accepted, by name, and the catalogue.
    pub fn of_accepted<'r>(resources: impl IntoIterator<Item = (&'r str, &'r Spec)>) -> KnownModules {
        let mut known = KnownModules::default();
        known.add_accepted(resources);
        known.add_catalogue();
        known
    }

    fn add_catalogue(&mut self) {
        for declaration in &MODULES.declarations {
            if let Spec::Module(module) = declaration.spec.as_ref() {
                self.add_module(&declaration.key.name, module);
            }
        }
    }
}

impl ReadContext {
    /// The context without a server: any account, and only the built-in catalogue.
    pub fn offline() -> ReadContext {
        ReadContext { account: None, known: KnownResources::offline() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_modules_are_sound_and_are_those_the_documents_use() {
        assert_eq!(MODULES.diagnostics, []);
        let names: Vec<&str> =
            MODULES.declarations.iter().map(|declared| declared.key.name.as_str()).collect();
        assert_eq!(names, ["system-base", "security-hardening", "chrony", "nginx"]);
        let has_content = |spec: &Spec| matches!(spec, Spec::Module(module) if module.host.is_some());
        assert!(MODULES.declarations.iter().all(|declared| has_content(&declared.spec)));
    }
}
