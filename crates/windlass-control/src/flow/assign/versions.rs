//! The versions of an account's modules: the only place that says which there are.
//!
//! A module has the version that its accepted spec describes, and it is live. Every account also has the modules of the
//! catalogue; one that the account declares itself takes the place of the catalogue's, which then only exact pins find.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use windlass_core::assign::{ApprovedFleet, RecordedApproval};
use windlass_core::catalogue::modules_beside;
use windlass_core::digest::Digest;
use windlass_core::host::{BlobDigest, BlobRef, ModulePackage, ModuleVersion};
use windlass_core::resource::{Kind, ModuleSpec, ResourceKey, Spec};
use windlass_core::target_assignment::{CoveredResource, CoveringApproval};
use windlass_core::value::Lifecycle;
use windlass_store::{ApprovedResource, ModulePackageRow, PackageContent};

/// One version of a module, before its content is known.
#[derive(Clone, Debug)]
pub(crate) struct ModuleContent {
    /// The module.
    pub(crate) module: String,
    /// What it makes of a machine.
    pub(crate) spec: Arc<ModuleSpec>,
    /// The digest of the spec with the files that it names.
    pub(crate) digest: Digest,
    /// Its state.
    pub(crate) state: Lifecycle,
    /// Why it was accepted.
    pub(crate) approval: Option<RecordedApproval>,
    /// The mirrors that may have its files, the most likely first.
    pub(crate) mirrors: Vec<PathBuf>,
}

impl ModuleContent {
    /// The version of an accepted module.
    pub(crate) fn of_resource(resource: &ApprovedResource, mirrors: Vec<PathBuf>) -> Option<ModuleContent> {
        let Spec::Module(spec) = resource.spec.as_ref() else { return None };
        Some(ModuleContent {
            module: resource.key.name.clone(),
            spec: Arc::new(spec.clone()),
            digest: resource.digest,
            state: Lifecycle::Live,
            approval: resource.approval.clone(),
            mirrors,
        })
    }

    /// The package of this version with these files.
    pub(crate) fn package(&self, files: BTreeMap<String, BlobRef>) -> ModulePackage {
        ModulePackage { name: self.module.clone(), spec: ModuleSpec::clone(&self.spec), files }
    }
}

/// The versions of the catalogue, for an account that declares these modules itself.
pub(crate) fn catalogue_versions(own: &BTreeSet<&str>) -> Vec<ModuleContent> {
    let version = |(name, spec, state): (&str, &Spec, Lifecycle)| {
        let Spec::Module(module) = spec else { return None };
        let digest = spec.digest();
        Some(ModuleContent {
            module: name.to_owned(),
            spec: Arc::new(module.clone()),
            digest,
            state,
            approval: Some(RecordedApproval { digest, approval: CoveringApproval::Catalogue }),
            mirrors: Vec::new(),
        })
    };
    modules_beside(own).filter_map(version).collect()
}

/// The modules of an account, and the packages that were built of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ModuleSet {
    own: Vec<ModuleContent>,
    built: BTreeMap<(String, Digest), PackageContent>,
}

impl ModuleSet {
    /// The versions of accepted modules.
    pub(crate) fn new(own: Vec<ModuleContent>, built: Vec<ModulePackageRow>) -> ModuleSet {
        let built = built.into_iter().map(|row| ((row.module, row.digest), row.content)).collect();
        ModuleSet { own, built }
    }

    /// The same with other content of one module, or without it.
    pub(crate) fn with_module(mut self, module: &str, content: Option<ModuleContent>) -> ModuleSet {
        self.own.retain(|own| own.module != module);
        self.own.extend(content);
        self
    }

    /// Adds every version whose package is built to a fleet, and returns the others.
    pub(crate) fn add_to(&self, fleet: &mut ApprovedFleet) -> Vec<ModuleContent> {
        let own = self.own.iter().map(|own| own.module.as_str()).collect();
        let mut unbuilt = Vec::new();
        for version in self.own.iter().cloned().chain(catalogue_versions(&own)) {
            let known = self.built.get(&(version.module.clone(), version.digest));
            let package = known.map(|known| (known.package, version.package(known.files.clone())));
            match package {
                // A row that does not match the module is built again.
                Some((digest, package)) if package.digest() == digest => {
                    add_version(fleet, &version, package);
                }
                Some(_) | None => unbuilt.push(version),
            }
        }
        unbuilt
    }
}

/// Adds a version whose content is known.
pub(crate) fn add_version(fleet: &mut ApprovedFleet, version: &ModuleContent, package: ModulePackage) {
    let content = package.digest();
    fleet.versions.add(&version.module, version_with(version, content));
    // Without an approval of exactly this digest the content stays uncovered, and no node gets it.
    let approved = version.approval.as_ref().filter(|approval| approval.digest == version.digest);
    if let Some(RecordedApproval { digest, approval }) = approved {
        let covered = CoveredResource {
            resource: ResourceKey::new(Kind::Module, &version.module),
            digest: *digest,
            package: Some(content),
            approval: approval.clone(),
        };
        fleet.modules.insert(content, covered);
    }
    fleet.packages.insert(content, package);
}

/// Adds a version whose content is not at hand: nodes that need it say so, instead of getting another version.
pub(crate) fn add_unavailable(fleet: &mut ApprovedFleet, version: &ModuleContent, reason: String) {
    let placeholder = BlobDigest::of(format!("{} {}", version.module, version.digest).as_bytes());
    fleet.versions.add(&version.module, version_with(version, placeholder));
    fleet.unavailable.insert(version.module.clone(), reason);
}

fn version_with(version: &ModuleContent, package: BlobDigest) -> ModuleVersion {
    ModuleVersion {
        version: version.spec.version.clone(),
        state: version.state,
        spec: Arc::clone(&version.spec),
        package,
    }
}

#[cfg(test)]
mod tests {
    use windlass_core::host::{ModuleVersions, NodeResolver};
    use windlass_core::value::ModulePin;

    use super::*;

    fn module(name: &str, spec: &str) -> ModuleContent {
        let spec = Spec::read_stored(Kind::Module, spec).expect("a module");
        let digest = spec.digest();
        let resource = ApprovedResource {
            key: ResourceKey::new(Kind::Module, name),
            spec: Arc::new(spec),
            digest,
            owner_id: None,
            approval: Some(RecordedApproval { digest, approval: CoveringApproval::Catalogue }),
        };
        ModuleContent::of_resource(&resource, Vec::new()).expect("a module")
    }

    fn selected(versions: &ModuleVersions, pin: &str) -> Option<BlobDigest> {
        let pin: ModulePin = windlass_core::shape::TextValue::read(pin).expect("a pin");
        versions.select(&pin).map(|version| version.package)
    }

    #[test]
    fn an_own_module_takes_the_place_of_the_catalogues_which_only_exact_pins_find() {
        let own = module("nginx", r#"{"description": "ours"}"#);
        let mut fleet = ApprovedFleet::default();
        add_version(&mut fleet, &own, own.package(BTreeMap::new()));
        let mut built_in = BTreeMap::new();
        for version in catalogue_versions(&BTreeSet::from(["nginx"])) {
            let package = version.package(BTreeMap::new());
            built_in.insert(version.module.clone(), package.digest());
            add_version(&mut fleet, &version, package);
        }
        let ours = own.package(BTreeMap::new()).digest();
        assert_eq!(selected(&fleet.versions, "nginx"), Some(ours));
        assert_eq!(selected(&fleet.versions, "nginx@live"), Some(ours));
        assert_eq!(selected(&fleet.versions, "nginx@1.26.0"), Some(built_in["nginx"]));
        assert_eq!(selected(&fleet.versions, "chrony"), Some(built_in["chrony"]));
        assert_eq!(fleet.modules.len(), 5, "each is covered");
    }

    #[test]
    fn content_that_was_not_approved_is_known_and_not_covered() {
        let mut changed = module("motd", "{}");
        changed.digest = Digest::of(b"changed behind the server's back");
        let mut fleet = ApprovedFleet::default();
        add_version(&mut fleet, &changed, changed.package(BTreeMap::new()));
        assert!(fleet.modules.is_empty());
        assert!(selected(&fleet.versions, "motd").is_some());
        add_unavailable(&mut fleet, &module("gone", "{}"), "cannot read a".to_owned());
        let missing = selected(&fleet.versions, "gone").expect("a version");
        assert!(!fleet.packages.contains_key(&missing));
        assert!(NodeResolver::new(&fleet.accepted, &fleet.versions).resolve("n").is_err());
    }
}
