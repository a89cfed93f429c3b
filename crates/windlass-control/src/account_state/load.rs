//! Loads what is around the changes that are to be decided about.

use std::collections::BTreeSet;

use windlass_core::apply::{AcceptedFacts, AccountState};
use windlass_core::conflict::Candidate;
use windlass_core::id::AccountId;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_store::{Reading, StoreError};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::holdings;

/// Loads what changes need to be decided about.
pub(crate) async fn load_account_state(
    reading: &mut Reading,
    account_id: &AccountId,
    candidates: &[Candidate<'_>],
    declarations: DeclarationSource<'_>,
) -> Result<AccountState, StoreError> {
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
        .map(|head| (head.key, AcceptedFacts { digest: head.digest, owner_id: head.owner_id }))
        .collect();
    let mut referrers: ResourceMap<BTreeSet<ResourceKey>> =
        doomed.iter().map(|key| (key.clone(), BTreeSet::new())).collect();
    for (referrer, target) in reading.referrers(account_id, &doomed).await? {
        if let Some(known) = referrers.get_mut(target.kind, &target.name) {
            known.insert(referrer);
        }
    }
    Ok(AccountState::new(present, referrers, holdings))
}
