//! The accepted state of an account, loaded as far as a decision needs it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use windlass_core::accepted::{Accepted, AcceptedResource, Owner};
use windlass_core::catalogue::{Known, KnownVersions};
use windlass_core::conflict::{Conflict, Holdings};
use windlass_core::desired::Desired;
use windlass_core::diff::Change;
use windlass_core::digest::Digest;
use windlass_core::manifest::Context;
use windlass_core::proposal::{Existing, blockers};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};
use windlass_core::value::Lifecycle;
use windlass_store::{Account, Reading, Resource, StoreError};

use crate::holdings::{self, Candidate, Declarations};

/// When more specs than this are needed, reading all is faster than looking each up.
const READ_ALL: usize = 5_000;

/// The repositories of an account: id → name.
pub(crate) type Names = BTreeMap<String, String>;

/// The names of an account's repositories.
pub(crate) async fn repository_names(reading: &mut Reading, account_id: &str) -> Result<Names, StoreError> {
    let repositories = reading.repositories(account_id).await?;
    Ok(repositories.into_iter().map(|repository| (repository.id, repository.name)).collect())
}

/// Who owns a resource, by the name people know.
pub(crate) fn owner_of(owner_id: Option<&str>, names: &Names) -> Owner {
    match owner_id {
        None => Owner::Nobody,
        Some(id) => Owner::Repository(names.get(id).cloned().unwrap_or_else(|| id.to_owned())),
    }
}

/// Everything accepted, for comparing with what a repository wants. What is as it should be is not read again: the same
/// digest is the same spec.
pub(crate) async fn load_accepted(
    reading: &mut Reading,
    account_id: &str,
    desired: &Desired,
    names: &Names,
) -> Result<Accepted, StoreError> {
    let heads = reading.resource_heads(account_id).await?;
    let mut accepted = Accepted::default();
    let mut unread = Vec::new();
    for head in heads {
        let owner = owner_of(head.owner_id.as_deref(), names);
        let same = desired
            .resources
            .get(head.key.kind, &head.key.name)
            .filter(|declared| declared.digest == head.digest)
            .map(|declared| Arc::clone(&declared.spec));
        match same {
            Some(spec) => {
                accepted.resources.insert(head.key, AcceptedResource { spec, digest: head.digest, owner });
            }
            None => unread.push((head.key, owner)),
        }
    }
    let mut owners: ResourceMap<Owner> = unread.into_iter().collect();
    let others = match owners.len() > READ_ALL {
        true => reading.resources_all(account_id, None).await?,
        false => {
            let keys: Vec<ResourceKey> =
                owners.iter().map(|(kind, name, _)| ResourceKey::new(kind, name)).collect();
            reading.resources_of(account_id, &keys).await?
        }
    };
    for resource in others {
        if let Some(owner) = owners.remove(resource.key.kind, &resource.key.name) {
            accepted.resources.insert(resource.key.clone(), accepted_resource(resource, owner));
        }
    }
    Ok(accepted)
}

/// The accepted state of some resources.
pub(crate) async fn load_some(
    reading: &mut Reading,
    account_id: &str,
    keys: &[ResourceKey],
    names: &Names,
) -> Result<Accepted, StoreError> {
    let mut accepted = Accepted::default();
    for resource in reading.resources_of(account_id, keys).await? {
        let owner = owner_of(resource.owner_id.as_deref(), names);
        accepted.resources.insert(resource.key.clone(), accepted_resource(resource, owner));
    }
    Ok(accepted)
}

fn accepted_resource(resource: Resource, owner: Owner) -> AcceptedResource {
    AcceptedResource { spec: resource.spec, digest: resource.digest, owner }
}

/// What a fleet's files may refer to in this account.
pub(crate) async fn reading_context(reading: &mut Reading, account: &Account) -> Result<Context, StoreError> {
    let mut known = Known::offline();
    for versions in known.versions.values_mut() {
        versions.complete = true;
    }
    for head in reading.resource_heads(&account.id).await? {
        known.resources.insert(head.key, ());
    }
    let filter = windlass_store::ResourceFilter { kind: Some(Kind::Module), ..Default::default() };
    for module in reading.resources_page(&account.id, &filter, None, i32::MAX as usize).await? {
        let entry: &mut KnownVersions = known.versions.entry(module.key.name.clone()).or_default();
        entry.complete = true;
        if let Spec::Module(spec) = module.spec.as_ref()
            && let Some(version) = &spec.version
        {
            entry.versions.push((version.clone(), Lifecycle::Live));
        }
    }
    let account_words = vec![account.id.clone(), account.name.clone()];
    Ok(Context { account: Some(account_words), known })
}

/// What exists in an account around some changes, while they are made one after the other: what they change, what they
/// refer to, what refers to what they destroy, and who has what they want. Of anything else it knows nothing.
#[derive(Debug)]
pub(crate) struct World {
    present: ResourceMap<Standing>,
    built_in: Known,
    /// Who refers to what will be destroyed.
    referrers: ResourceMap<BTreeSet<ResourceKey>>,
    holdings: Holdings,
}

/// What is known of an accepted resource.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) digest: Digest,
    pub(crate) owner_id: Option<String>,
}

impl World {
    /// Loads what the changes need.
    pub(crate) async fn around(
        reading: &mut Reading,
        account_id: &str,
        candidates: &[Candidate<'_>],
        declarations: Declarations<'_>,
    ) -> Result<World, StoreError> {
        let changes = || candidates.iter().map(|candidate| candidate.change);
        let mut near: BTreeSet<ResourceKey> = changes().map(|change| change.key.clone()).collect();
        let mut doomed = Vec::new();
        for change in changes() {
            match &change.after {
                Some(spec) => near.extend(spec.targets(&change.key.name)),
                None => doomed.push(change.key.clone()),
            }
        }
        let near: Vec<ResourceKey> = near.into_iter().collect();
        let heads = reading.resource_heads_of(account_id, &near).await?;
        let holdings = holdings::load(reading, account_id, candidates, &heads, declarations).await?;
        let present = heads
            .into_iter()
            .map(|head| (head.key, Standing { digest: head.digest, owner_id: head.owner_id }))
            .collect();
        let mut referrers: ResourceMap<BTreeSet<ResourceKey>> =
            doomed.iter().map(|key| (key.clone(), BTreeSet::new())).collect();
        for (referrer, target) in reading.referrers(account_id, &doomed).await? {
            if let Some(known) = referrers.get_mut(target.kind, &target.name) {
                known.insert(referrer);
            }
        }
        Ok(World { present, built_in: Known::offline(), referrers, holdings })
    }

    pub(crate) fn standing(&self, key: &ResourceKey) -> Option<&Standing> {
        self.present.get(key.kind, &key.name)
    }

    /// What others have that a change wants.
    pub(crate) fn conflicts(&self, candidate: Candidate<'_>) -> Vec<Conflict> {
        self.holdings.conflicts(candidate.change, candidate.claimant)
    }

    /// Everything that a change waits for, beside approval.
    pub(crate) fn blockers(&self, candidate: Candidate<'_>) -> Vec<String> {
        blockers(candidate.change, self, &self.conflicts(candidate))
    }

    /// Notes that a change was made, for whom.
    pub(crate) fn make(&mut self, change: &Change, owner_id: Option<&str>) {
        self.holdings.make(change, owner_id);
        let key = &change.key;
        for target in change.before.iter().flat_map(|before| before.targets(&key.name)) {
            if let Some(known) = self.referrers.get_mut(target.kind, &target.name) {
                known.remove(key);
            }
        }
        let Some(spec) = &change.after else {
            self.present.remove(key.kind, &key.name);
            return;
        };
        for target in spec.targets(&key.name) {
            if let Some(known) = self.referrers.get_mut(target.kind, &target.name) {
                known.insert(key.clone());
            }
        }
        let digest = change.desired.unwrap_or_else(|| spec.digest());
        self.present.insert(key.clone(), Standing { digest, owner_id: owner_id.map(str::to_owned) });
    }
}

impl Existing for World {
    fn exists(&self, kind: Kind, name: &str) -> bool {
        self.present.contains(kind, name) || self.built_in.has(kind, name)
    }

    fn has_platform(&self, name: &str) -> bool {
        self.built_in.platforms.contains(name)
    }

    fn referrers(&self, key: &ResourceKey) -> Vec<ResourceKey> {
        // What comes with Windlass steps in again when the account's own is gone.
        if self.built_in.has(key.kind, &key.name) {
            return Vec::new();
        }
        let known = self.referrers.get(key.kind, &key.name);
        known.map(|known| known.iter().cloned().collect()).unwrap_or_default()
    }
}
