//! What is live in an account, loaded as far as a decision needs it.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass_core::catalogue::{Known, KnownVersions};
use windlass_core::desired::Desired;
use windlass_core::digest::Digest;
use windlass_core::live::{Live, LiveResource, Owner};
use windlass_core::manifest::Context;
use windlass_core::proposal::Existing;
use windlass_core::resource::{Kind, ResourceKey, ResourceMap, Spec};
use windlass_core::value::Lifecycle;
use windlass_store::{Account, Reading, Resource, StoreError};

/// More specs than this are read in one go instead of one by one.
const READ_ONE_BY_ONE: usize = 200;

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

/// Everything live, for comparing with what a repository wants. What is as it should be is not read again: the same
/// digest is the same spec.
pub(crate) async fn load_live(
    reading: &mut Reading,
    account_id: &str,
    desired: &Desired,
    names: &Names,
) -> Result<Live, StoreError> {
    let heads = reading.resource_heads(account_id).await?;
    let mut live = Live::default();
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
                live.resources.insert(head.key, LiveResource { spec, digest: head.digest, owner });
            }
            None => unread.push((head.key, owner)),
        }
    }
    if unread.len() > READ_ONE_BY_ONE {
        let mut owners: ResourceMap<Owner> = unread.into_iter().collect();
        for resource in reading.resources_all(account_id, None).await? {
            if let Some(owner) = owners.remove(resource.key.kind, &resource.key.name) {
                live.resources.insert(resource.key.clone(), live_of(resource, owner));
            }
        }
        return Ok(live);
    }
    for (key, owner) in unread {
        if let Some(resource) = reading.resource(account_id, &key).await? {
            live.resources.insert(key, live_of(resource, owner));
        }
    }
    Ok(live)
}

fn live_of(resource: Resource, owner: Owner) -> LiveResource {
    LiveResource { spec: resource.spec, digest: resource.digest, owner }
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

/// What exists in an account while changes are made one after the other.
#[derive(Debug)]
pub(crate) struct World {
    present: ResourceMap<Standing>,
    built_in: Known,
    referrers: Option<ResourceMap<Vec<ResourceKey>>>,
}

/// What is known of a live resource.
#[derive(Clone, Debug)]
pub(crate) struct Standing {
    pub(crate) digest: Digest,
    pub(crate) owner_id: Option<String>,
}

/// Whether something will be destroyed, so that it matters who refers to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Destroys {
    Some,
    None,
}

impl World {
    pub(crate) async fn load(
        reading: &mut Reading,
        account_id: &str,
        destroys: Destroys,
    ) -> Result<World, StoreError> {
        let heads = reading.resource_heads(account_id).await?;
        let present = heads
            .into_iter()
            .map(|head| (head.key, Standing { digest: head.digest, owner_id: head.owner_id }))
            .collect();
        let mut world = World { present, built_in: Known::offline(), referrers: None };
        if destroys == Destroys::Some {
            world.referrers = Some(ResourceMap::default());
            for resource in reading.resources_all(account_id, None).await? {
                world.refer(&resource.key, &resource.spec);
            }
        }
        Ok(world)
    }

    pub(crate) fn standing(&self, key: &ResourceKey) -> Option<&Standing> {
        self.present.get(key.kind, &key.name)
    }

    /// Notes that a resource became something, or came to be.
    pub(crate) fn put(
        &mut self,
        key: &ResourceKey,
        before: Option<&Spec>,
        spec: &Spec,
        owner_id: Option<String>,
    ) {
        if let Some(before) = before {
            self.unrefer(key, before);
        }
        self.refer(key, spec);
        self.present.insert(key.clone(), Standing { digest: spec.digest(), owner_id });
    }

    /// Notes that a resource is no more.
    pub(crate) fn remove(&mut self, key: &ResourceKey, before: Option<&Spec>) {
        if let Some(before) = before {
            self.unrefer(key, before);
        }
        self.present.remove(key.kind, &key.name);
    }

    fn refer(&mut self, key: &ResourceKey, spec: &Spec) {
        let Some(referrers) = &mut self.referrers else { return };
        for target in references(key, spec) {
            let mut known = referrers.remove(target.kind, &target.name).unwrap_or_default();
            known.push(key.clone());
            referrers.insert(target, known);
        }
    }

    fn unrefer(&mut self, key: &ResourceKey, spec: &Spec) {
        let Some(referrers) = &mut self.referrers else { return };
        for target in references(key, spec) {
            let mut known = referrers.remove(target.kind, &target.name).unwrap_or_default();
            known.retain(|referrer| referrer != key);
            referrers.insert(target, known);
        }
    }
}

/// What a spec refers to, each once.
pub(crate) fn references(key: &ResourceKey, spec: &Spec) -> Vec<ResourceKey> {
    let mut targets = Vec::new();
    spec.references(&key.name, &mut |reference| {
        targets.push(ResourceKey::new(reference.kind, reference.name));
    });
    targets.sort();
    targets.dedup();
    targets
}

impl Existing for World {
    fn exists(&self, kind: Kind, name: &str) -> bool {
        self.present.contains(kind, name) || self.built_in.has(kind, name)
    }

    fn referrers(&self, key: &ResourceKey) -> Vec<ResourceKey> {
        let known = self.referrers.as_ref().and_then(|referrers| referrers.get(key.kind, &key.name));
        // What comes with Windlass steps in again when the account's own is gone.
        if self.built_in.has(key.kind, &key.name) {
            return Vec::new();
        }
        known.cloned().unwrap_or_default()
    }
}
