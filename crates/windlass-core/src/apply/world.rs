//! What is around the changes that are to be decided about, while they are made one after the other.

use std::collections::BTreeSet;

use crate::blocked_by::BlockedBy;
use crate::catalogue::KnownResources;
use crate::conflict::{Candidate, Conflict, Holdings};
use crate::diff::Change;
use crate::digest::Digest;
use crate::id::RepositoryId;
use crate::proposal::{ResourceLookup, blockers};
use crate::resource::{Kind, ResourceKey, ResourceMap};

/// What exists in an account around some changes, while they are made one after the other: what they change, what they
/// refer to, what refers to what they destroy, and who has what they want. Of anything else it knows nothing.
#[derive(Debug)]
pub struct AccountState {
    present: ResourceMap<AcceptedFacts>,
    built_in: KnownResources,
    /// Who refers to what will be destroyed.
    referrers: ResourceMap<BTreeSet<ResourceKey>>,
    holdings: Holdings,
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
        AccountState { present, built_in: KnownResources::offline(), referrers, holdings }
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
        blockers(candidate.change, self, &self.conflicts(candidate))
    }

    /// Notes that a change was made, for whom.
    pub fn note_applied(&mut self, change: &Change, owner_id: Option<&RepositoryId>) {
        self.holdings.note_applied(change, owner_id);
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
        self.present.insert(key.clone(), AcceptedFacts { digest, owner_id: owner_id.cloned() });
    }
}

impl ResourceLookup for AccountState {
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
