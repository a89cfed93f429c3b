//! What is around the changes that are to be decided about, while they are made one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::versions::described_version;
use crate::blocked_by::BlockedBy;
use crate::catalogue::KnownResources;
use crate::conflict::{Candidate, Claimant, Conflict, Holdings};
use crate::diff::{Cause, Change};
use crate::digest::Digest;
use crate::id::RepositoryId;
use crate::proposal::{ResourceLookup, blockers};
use crate::resource::{Kind, ModuleVersionSpec, ResourceKey, ResourceMap, Spec, version_name};
use crate::value::LifecycleStep;

/// What exists in an account around some changes, while they are made one after the other: what they change, what they
/// refer to, what refers to what they destroy, and who has what they want. Of anything else it knows nothing.
#[derive(Debug)]
pub struct AccountState {
    present: ResourceMap<AcceptedFacts>,
    built_in: KnownResources,
    /// Who refers to what will be destroyed.
    referrers: ResourceMap<BTreeSet<ResourceKey>>,
    holdings: Holdings,
    modules: ModuleFacts,
}

/// What is known of the modules that changes pin or change.
#[derive(Clone, Debug, Default)]
pub struct ModuleFacts {
    /// Accepted modules without a version.
    unnumbered: BTreeSet<String>,
    /// Their versions, by name.
    versions: BTreeMap<String, ModuleVersionSpec>,
}

impl ModuleFacts {
    /// Notes that a resource is gone; its versions go with a module.
    fn forget(&mut self, key: &ResourceKey) -> Vec<String> {
        match key.kind {
            Kind::ModuleVersion => {
                self.versions.remove(&key.name);
                Vec::new()
            }
            Kind::Module => {
                self.unnumbered.remove(&key.name);
                let is_its =
                    |name: &String| name.split_once('@').is_some_and(|(module, _)| module == key.name);
                let gone: Vec<String> = self.versions.keys().filter(|name| is_its(name)).cloned().collect();
                self.versions.retain(|name, _| !is_its(name));
                gone
            }
            _ => Vec::new(),
        }
    }

    /// Notes an accepted resource; other kinds than modules and versions are ignored.
    pub fn note(&mut self, key: &ResourceKey, spec: &Spec) {
        match spec {
            Spec::ModuleVersion(version) => {
                self.versions.insert(key.name.clone(), version.clone());
            }
            Spec::Module(module) => match &module.version {
                None => {
                    self.unnumbered.insert(key.name.clone());
                }
                Some(version) => {
                    self.unnumbered.remove(&key.name);
                    let name = version_name(&key.name, version);
                    let made = ModuleVersionSpec::made_by(module, self.versions.get(&name));
                    self.versions.insert(name, made);
                }
            },
            _ => {}
        }
    }
}

/// What is known of an accepted resource.
#[derive(Clone, Debug)]
pub struct AcceptedFacts {
    /// The digest of its spec.
    pub digest: Digest,
    /// The repository that owns it.
    pub owner_id: Option<RepositoryId>,
}

impl AccountState {
    /// What is around some changes: what is present of what they change and refer to, who refers to what they destroy, and
    /// who has what.
    pub fn new(
        present: ResourceMap<AcceptedFacts>,
        referrers: ResourceMap<BTreeSet<ResourceKey>>,
        holdings: Holdings,
    ) -> AccountState {
        let (built_in, modules) = (KnownResources::offline(), ModuleFacts::default());
        AccountState { present, built_in, referrers, holdings, modules }
    }

    /// The same, with what is known of modules.
    pub fn with_modules(self, modules: ModuleFacts) -> AccountState {
        AccountState { modules, ..self }
    }

    /// What is accepted of a resource now.
    pub fn accepted(&self, key: &ResourceKey) -> Option<&AcceptedFacts> {
        self.present.get(key.kind, &key.name)
    }

    /// What others have that a change wants.
    pub fn conflicts(&self, candidate: Candidate<'_>) -> Vec<Conflict> {
        self.holdings.conflicts(candidate.change, candidate.claimant)
    }

    /// Everything that a change waits for, beside approval.
    pub fn blockers(&self, candidate: Candidate<'_>) -> Vec<BlockedBy> {
        let mut reasons = blockers(candidate.change, self, &self.conflicts(candidate));
        reasons.extend(back_step(candidate));
        reasons
    }

    /// A change that creates a module version, as a change of the version that a module made since it was proposed: what was
    /// approved is this content in this state. Other changes stay as they are.
    pub fn over_made_version(&self, change: Change) -> Change {
        let (None, Some(Spec::ModuleVersion(wanted))) = (change.base, change.after.as_deref()) else {
            return change;
        };
        let (Some(standing), Some(made)) =
            (self.accepted(&change.key), self.modules.versions.get(&change.key.name))
        else {
            return change;
        };
        let digest_of = |version: &ModuleVersionSpec| version.content.as_ref().map(|it| it.content_digest());
        let is_same = digest_of(made) == digest_of(wanted);
        if !is_same || made.state.step_to(wanted.state) == LifecycleStep::Back {
            return change;
        }
        let before = Some(Arc::new(Spec::ModuleVersion(made.clone())));
        Change { cause: Cause::Adopted, before, base: Some(standing.digest), ..change }
    }

    /// Notes that a change was made, for whom.
    pub fn note_applied(&mut self, change: &Change, owner_id: Option<&RepositoryId>) {
        self.holdings.note_applied(change, owner_id);
        let key = &change.key;
        for target in change.before.iter().flat_map(|before| users_targets(key, before)) {
            if let Some(known) = self.referrers.get_mut(target.kind, &target.name) {
                known.remove(key);
            }
        }
        let Some(spec) = &change.after else {
            self.present.remove(key.kind, &key.name);
            for version in self.modules.forget(key) {
                self.present.remove(Kind::ModuleVersion, &version);
            }
            return;
        };
        for target in users_targets(key, spec) {
            if let Some(known) = self.referrers.get_mut(target.kind, &target.name) {
                known.insert(key.clone());
            }
        }
        let digest = change.desired.unwrap_or_else(|| spec.digest());
        self.present.insert(key.clone(), AcceptedFacts { digest, owner_id: owner_id.cloned() });
        self.modules.note(key, spec);
        self.note_version_made(key, spec);
    }

    /// Notes the version that an applied module makes, which keeps its owner if it existed.
    fn note_version_made(&mut self, key: &ResourceKey, spec: &Spec) {
        let Some(version) = described_version(key, spec) else { return };
        let Some(made) = self.modules.versions.get(&version.name) else { return };
        let digest = Spec::ModuleVersion(made.clone()).digest();
        let owner_id = self.accepted(&version).and_then(|standing| standing.owner_id.clone());
        self.present.insert(version, AcceptedFacts { digest, owner_id });
    }
}

/// What a resource uses: what it refers to, and the version that a module describes.
fn users_targets(key: &ResourceKey, spec: &Spec) -> Vec<ResourceKey> {
    let mut targets = spec.targets(&key.name);
    targets.extend(described_version(key, spec));
    targets
}

/// Why a version stays where it is in its lifecycle: git only moves it forward.
fn back_step(candidate: Candidate<'_>) -> Option<BlockedBy> {
    let change = candidate.change;
    let (Some(Spec::ModuleVersion(before)), Some(Spec::ModuleVersion(after))) =
        (change.before.as_deref(), change.after.as_deref())
    else {
        return None;
    };
    let is_back = before.state.step_to(after.state) == LifecycleStep::Back;
    let words = (before.state.word().to_owned(), after.state.word().to_owned());
    (is_back && candidate.claimant != Claimant::Person)
        .then_some(BlockedBy::VersionBack { from: words.0, to: words.1 })
}

impl ResourceLookup for AccountState {
    fn exists(&self, kind: Kind, name: &str) -> bool {
        self.present.contains(kind, name)
            || self.built_in.has(kind, name)
            || (kind == Kind::ModuleVersion && self.modules.versions.contains_key(name))
    }

    fn has_platform(&self, name: &str) -> bool {
        self.built_in.platforms.contains(name)
    }

    fn has_unnumbered(&self, module: &str) -> bool {
        self.modules.unnumbered.contains(module)
    }

    fn version_content(&self, name: &str) -> Option<Digest> {
        Some(self.modules.versions.get(name)?.content.as_ref()?.content_digest())
    }

    fn referrers(&self, key: &ResourceKey) -> Vec<ResourceKey> {
        // What comes with Windlass steps in again when the account's own is gone. A version of the same number may have
        // other content.
        if self.built_in.has(key.kind, &key.name) && key.kind != Kind::ModuleVersion {
            return Vec::new();
        }
        let known = self.referrers.get(key.kind, &key.name);
        known.map(|known| known.iter().cloned().collect()).unwrap_or_default()
    }
}
