//! Where the accepted state differs from what a repository last said.

use windlass_core::diff::{Cause, Change, FieldChange};
use windlass_core::drift::{Acceptance, Acceptances, Difference, Origin, Present, Wanted, differences};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Differing, Reading, StoreError};

use crate::clock::now;
use crate::world::names::{owner_of, repository_names};

/// Differences of a repository, those that someone accepted apart.
pub struct Found {
    /// All of them, in key order.
    pub differences: Vec<Difference>,
    acceptances: Acceptances,
    now: Timestamp,
}

impl Found {
    /// The acceptance of a difference, if it holds.
    pub fn acceptance(&self, difference: &Difference) -> Option<&Acceptance> {
        self.acceptances.of(&difference.key, difference.desired, difference.accepted, self.now)
    }

    /// Those nobody accepted.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| self.acceptance(difference).is_none())
    }

    /// Those that someone made by hand and nobody accepted.
    pub(crate) fn drifted(&self) -> impl Iterator<Item = &Difference> {
        self.open().filter(|difference| difference.origin == Origin::ByHand)
    }
}

/// How the accepted state differs from what a repository last said.
pub async fn differences_of(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
) -> Result<Found, StoreError> {
    let differing = reading.differing(account_id, repository_id).await?;
    found_among(reading, account_id, repository_id, differing).await
}

/// How one resource differs from what a repository last said.
pub async fn difference_at(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
    key: &ResourceKey,
) -> Result<Found, StoreError> {
    let differing = reading.differing_at(account_id, repository_id, key).await?;
    found_among(reading, account_id, repository_id, differing).await
}

async fn found_among(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
    differing: impl IntoIterator<Item = Differing>,
) -> Result<Found, StoreError> {
    let names = repository_names(reading, account_id).await?;
    let owner = owner_of(Some(repository_id), &names);
    let (mut wanted, mut accepted) = (ResourceMap::default(), ResourceMap::default());
    for differing in differing {
        if let Some((digest, last_agreed)) = differing.wanted {
            wanted.insert(differing.key.clone(), Wanted { digest, last_agreed });
        }
        if let Some((digest, owner_id)) = differing.accepted {
            accepted.insert(differing.key, Present { digest, owner: owner_of(owner_id.as_deref(), &names) });
        }
    }
    let acceptances = reading.acceptances(repository_id).await?;
    Ok(Found {
        differences: differences(&wanted, &accepted, &owner),
        acceptances: acceptances.into_iter().collect(),
        now: now(),
    })
}

/// The fields in which a resource differs: `before` is what git says, `after` the accepted state.
pub(crate) async fn fields_of(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
    difference: &Difference,
) -> Result<Vec<FieldChange>, StoreError> {
    let key = &difference.key;
    let wanted = reading.wanted_specs(repository_id, Some(std::slice::from_ref(key))).await?;
    let accepted = reading.resource(account_id, key).await?;
    let change = Change {
        key: key.clone(),
        cause: Cause::Edited,
        before: wanted.get(key.kind, &key.name).cloned(),
        base: difference.desired,
        after: accepted.map(|accepted| accepted.spec),
        desired: difference.accepted,
    };
    Ok(change.fields())
}

/// Who last changed a resource, and when.
pub(crate) async fn last_change(
    reading: &mut Reading,
    account_id: &str,
    key: &ResourceKey,
) -> Result<Option<(String, Timestamp)>, StoreError> {
    let entries = reading.audit(account_id, Some((key.kind.slug(), &key.name)), i64::MAX, 1).await?;
    Ok(entries.into_iter().next().map(|entry| (entry.actor.name, entry.at)))
}
