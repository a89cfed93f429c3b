//! The resources that exist besides the files being read, and the module versions that pins can select.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::resource::{Kind, ModuleSpec, ModuleVersionName, ResourceKey, ResourceMap, Spec, version_name};
use crate::shape::TextValue as _;
use crate::value::{Lifecycle, Selector, Version};

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

    /// Replaces the versions by these, which are all that there are.
    pub fn set_versions(&mut self, modules: &KnownModules) {
        self.versions.clear();
        for (name, module) in modules.iter() {
            let versions = module.versions.iter().map(|(version, known)| (version.clone(), known.state));
            let versions = KnownVersions { versions: versions.collect(), complete: true };
            self.versions.insert(name.to_owned(), versions);
            for version in module.versions.keys() {
                let name = version_name(name, version);
                self.resources.insert(ResourceKey::new(Kind::ModuleVersion, name), ());
            }
        }
    }
}

/// Every version of every module of an account, with its content.
///
/// Versions come from three places, and the first that has one decides: versions that were made, modules that were applied
/// before versions existed, and the catalogue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownModules {
    modules: BTreeMap<String, KnownModule>,
}

/// The versions of one module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownModule {
    /// The versions with a number.
    pub versions: BTreeMap<Version, KnownVersion>,
    /// The content of a module without a version, which is always live.
    pub unnumbered: Option<Arc<ModuleSpec>>,
}

/// A version with a number.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownVersion {
    /// Its state.
    pub state: Lifecycle,
    /// Its content.
    pub content: Arc<ModuleSpec>,
}

impl KnownModules {
    /// Adds accepted resources in any order: modules and their versions. Other kinds are ignored.
    pub fn add_accepted<'r>(&mut self, resources: impl IntoIterator<Item = (&'r str, &'r Spec)>) {
        for (name, spec) in resources {
            match spec {
                Spec::Module(module) => self.add_module(name, module),
                Spec::ModuleVersion(version) => {
                    let (Ok(name), Some(content)) = (ModuleVersionName::read(name), &version.content) else {
                        continue;
                    };
                    let known = KnownVersion { state: version.state, content: Arc::clone(content) };
                    let module = self.modules.entry(name.module.to_string()).or_default();
                    module.versions.insert(name.version, known);
                }
                _ => {}
            }
        }
    }

    /// Adds the version that a module describes, unless it is known already.
    pub fn add_module(&mut self, name: &str, module: &ModuleSpec) {
        let known = self.modules.entry(name.to_owned()).or_default();
        let content = || Arc::new(module.version_content());
        match &module.version {
            None => known.unnumbered = Some(content()),
            Some(version) => {
                let state = module.version_state.lifecycle();
                let made = || KnownVersion { state, content: content() };
                known.versions.entry(version.clone()).or_insert_with(made);
            }
        }
    }

    /// Adds the version that a module describes once it is applied: a module that gets a number loses the version without
    /// one.
    pub fn replace_module(&mut self, name: &str, module: &ModuleSpec) {
        if let Some(known) = self.modules.get_mut(name).filter(|_| module.version.is_some()) {
            known.unnumbered = None;
        }
        self.add_module(name, module);
    }

    /// The modules, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &KnownModule)> {
        self.modules.iter().map(|(name, module)| (name.as_str(), module))
    }

    /// The versions of a module.
    pub fn module(&self, name: &str) -> Option<&KnownModule> {
        self.modules.get(name)
    }

    /// The number of the version that a selector selects; none if there is no such version, or if it has no number.
    pub fn select(&self, module: &str, selector: &Selector) -> Option<&Version> {
        self.module(module)?.select(selector)
    }

    /// The content of a version, by the name of the version.
    pub fn content(&self, name: &str) -> Option<&Arc<ModuleSpec>> {
        let name = ModuleVersionName::read(name).ok()?;
        Some(&self.module(name.module.as_str())?.versions.get(&name.version)?.content)
    }
}

impl KnownModule {
    /// The number of the version that a selector selects: the exact one, retired or not, or the newest in a state.
    pub fn select(&self, selector: &Selector) -> Option<&Version> {
        let newest = |state: Lifecycle| {
            self.versions.iter().rev().find(|(_, known)| known.state == state).map(|(version, _)| version)
        };
        match selector {
            Selector::Exact(version) => self.versions.get_key_value(version).map(|(version, _)| version),
            Selector::State(state) => newest(*state),
            Selector::Unpinned => newest(Lifecycle::Live),
        }
    }
}
