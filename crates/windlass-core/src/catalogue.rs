//! The catalogue of every account: node platforms and a few modules, so that a first fleet works without own modules.

use std::collections::BTreeMap;
use std::sync::LazyLock;

pub use crate::known::{KnownResources, KnownVersions};
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
            if let Spec::Module(module) = declaration.spec.as_ref() {
                let versions =
                    module.version.iter().map(|version| (version.clone(), Lifecycle::Live)).collect();
                known
                    .versions
                    .insert(declaration.key.name.clone(), KnownVersions { versions, complete: false });
            }
        }
        known
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
