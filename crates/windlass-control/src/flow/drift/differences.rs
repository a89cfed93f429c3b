//! Differences between the accepted state and the desired state of a repository.

use std::sync::Arc;

use windlass_core::diff::{Cause, Change, FieldChange};
use windlass_core::drift::{
    Acceptance, Acceptances, AcceptedDigest, DesiredDigests, DifferenceOrigin, GitDifference, git_differences,
};
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::resource::{ResourceKey, ResourceMap, Spec};
use windlass_core::time::Timestamp;
use windlass_store::{DifferingResource, Reading, StoreError};

use crate::account_state::names::{owner_of, repository_names};
use crate::clock::now;

/// The differences of a repository, with the acceptances of some of them.
pub struct RepositoryDifferences {
    /// All of them, in key order.
    pub differences: Vec<GitDifference>,
    acceptances: Acceptances,
    now: Timestamp,
}

impl RepositoryDifferences {
    /// The acceptance of a difference, if it is valid.
    pub fn acceptance(&self, difference: &GitDifference) -> Option<&Acceptance> {
        self.acceptances.of(&difference.key, difference.desired, difference.accepted, self.now)
    }

    /// Differences that nobody accepted.
    pub(crate) fn not_accepted(&self) -> impl Iterator<Item = &GitDifference> {
        self.differences.iter().filter(|difference| self.acceptance(difference).is_none())
    }

    /// Manual changes that nobody accepted.
    pub(crate) fn manual_changes(&self) -> impl Iterator<Item = &GitDifference> {
        self.not_accepted().filter(|difference| difference.origin == DifferenceOrigin::ManualChange)
    }
}

/// The differences between the accepted state and the desired state of a repository.
pub async fn differences_of(
    reading: &mut Reading,
    account_id: &AccountId,
    repository_id: &RepositoryId,
) -> Result<RepositoryDifferences, StoreError> {
    let differing = reading.differing_resources(account_id, repository_id).await?;
    load_differences(reading, account_id, repository_id, differing).await
}

/// The difference between the accepted state and the desired state of one resource.
pub async fn difference_at(
    reading: &mut Reading,
    account_id: &AccountId,
    repository_id: &RepositoryId,
    key: &ResourceKey,
) -> Result<RepositoryDifferences, StoreError> {
    let differing = reading.differing_resource(account_id, repository_id, key).await?;
    load_differences(reading, account_id, repository_id, differing).await
}

async fn load_differences(
    reading: &mut Reading,
    account_id: &AccountId,
    repository_id: &RepositoryId,
    differing: impl IntoIterator<Item = DifferingResource>,
) -> Result<RepositoryDifferences, StoreError> {
    let names = repository_names(reading, account_id).await?;
    let owner = owner_of(Some(repository_id), &names);
    let (mut wanted, mut accepted) = (ResourceMap::default(), ResourceMap::default());
    for differing in differing {
        if let Some((digest, last_agreed)) = differing.wanted {
            wanted.insert(differing.key.clone(), DesiredDigests { digest, last_agreed });
        }
        if let Some((digest, owner_id)) = differing.accepted {
            accepted
                .insert(differing.key, AcceptedDigest { digest, owner: owner_of(owner_id.as_ref(), &names) });
        }
    }
    let acceptances = reading.acceptances(repository_id).await?;
    Ok(RepositoryDifferences {
        differences: git_differences(&wanted, &accepted, &owner),
        acceptances: acceptances.into_iter().collect(),
        now: now(),
    })
}

/// Details of a difference.
#[derive(Default)]
pub(crate) struct DifferenceDetails {
    /// The fields that differ: `before` is the desired state, `after` the accepted state.
    pub(crate) fields: Vec<FieldChange>,
    /// Who last changed the resource, and when.
    pub(crate) last_change: Option<(String, Timestamp)>,
}

/// The details of a repository's differences, with three queries however many there are.
pub(crate) async fn details_of(
    reading: &mut Reading,
    account_id: &AccountId,
    repository_id: &RepositoryId,
    differences: &[&GitDifference],
) -> Result<ResourceMap<DifferenceDetails>, StoreError> {
    let keys: Vec<ResourceKey> = differences.iter().map(|difference| difference.key.clone()).collect();
    let wanted = reading.desired_specs(repository_id, Some(&keys)).await?;
    let accepted = reading.resources_of(account_id, &keys).await?;
    let mut accepted: ResourceMap<Arc<Spec>> =
        accepted.into_iter().map(|resource| (resource.key, resource.spec)).collect();
    let mut changes = reading.audit_last_changes(account_id, &keys).await?;
    let mut details = |key: ResourceKey, difference: &GitDifference| {
        let change = Change {
            key: key.clone(),
            cause: Cause::Edited,
            before: wanted.get(key.kind, &key.name).cloned(),
            base: difference.desired,
            after: accepted.remove(key.kind, &key.name),
            desired: difference.accepted,
        };
        let last_change = changes.remove(key.kind, &key.name);
        (key, DifferenceDetails { fields: change.fields(), last_change })
    };
    Ok(keys.into_iter().zip(differences).map(|(key, difference)| details(key, difference)).collect())
}
