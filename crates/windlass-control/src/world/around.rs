//! What is around the changes that are to be decided about.

use std::collections::BTreeSet;

use windlass_core::catalogue::Known;
use windlass_core::conflict::{Conflict, Holdings};
use windlass_core::diff::Change;
use windlass_core::digest::Digest;
use windlass_core::proposal::{Existing, blockers};
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_store::{Reading, StoreError};

use crate::world::candidate::{Candidate, Declarations};
use crate::world::holdings;

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
