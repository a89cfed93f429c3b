//! Loads the part of an account's state that a decision about changes needs.

use std::collections::BTreeSet;

use windlass_core::apply::{AcceptedFacts, AccountState};
use windlass_core::conflict::Candidate;
use windlass_core::id::AccountId;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_store::{Reading, StoreError};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::holdings;

/// Loads the account state that is needed to decide about the candidates.
pub(crate) async fn load_account_state(
    reading: &mut Reading,
    account_id: &AccountId,
    candidates: &[Candidate<'_>],
    declarations: DeclarationSource<'_>,
) -> Result<AccountState, StoreError> {
    let changes = || candidates.iter().map(|candidate| candidate.change);
    let mut near: BTreeSet<ResourceKey> = changes().map(|change| change.key.clone()).collect();
    let mut destroyed = Vec::new();
    for change in changes() {
        match &change.after {
            Some(spec) => near.extend(spec.targets(&change.key.name)),
            None => destroyed.push(change.key.clone()),
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
        destroyed.iter().map(|key| (key.clone(), BTreeSet::new())).collect();
    for (referrer, target) in reading.referrers(account_id, &destroyed).await? {
        if let Some(known) = referrers.get_mut(target.kind, &target.name) {
            known.insert(referrer);
        }
    }
    Ok(AccountState::new(present, referrers, holdings))
}
