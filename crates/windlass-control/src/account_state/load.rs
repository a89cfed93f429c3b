//! Loads the part of an account's state that a decision about changes needs.

use std::collections::BTreeSet;

use windlass_core::apply::{AcceptedFacts, AccountState, ModuleFacts, described_version};
use windlass_core::conflict::Candidate;
use windlass_core::id::AccountId;
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
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
    let modules = load_modules(reading, account_id, candidates, &mut referrers).await?;
    Ok(AccountState::new(present, referrers, holdings).with_modules(modules))
}

/// Loads the modules that the candidates pin or change, and the versions of those that they change. A module still uses
/// the version that it describes.
async fn load_modules(
    reading: &mut Reading,
    account_id: &AccountId,
    candidates: &[Candidate<'_>],
    referrers: &mut ResourceMap<BTreeSet<ResourceKey>>,
) -> Result<ModuleFacts, StoreError> {
    let mut keys: BTreeSet<ResourceKey> = BTreeSet::new();
    for Candidate { change, .. } in candidates {
        let key = &change.key;
        let module = |name: &str| ResourceKey::new(Kind::Module, name);
        match key.kind {
            Kind::ModuleVersion => {
                keys.insert(key.clone());
                keys.extend(key.name.split_once('@').map(|(name, _)| module(name)));
            }
            Kind::Module => keys.extend([key.clone()]),
            _ => {}
        }
        if let Some(spec) = &change.after {
            spec.pins(&key.name, &mut |pin| keys.extend([module(pin.module)]));
            keys.extend(described_version(key, spec));
        }
    }
    let keys: Vec<ResourceKey> = keys.into_iter().collect();
    let mut facts = ModuleFacts::default();
    if keys.is_empty() {
        return Ok(facts);
    }
    for resource in reading.resources_of(account_id, &keys).await? {
        facts.note(&resource.key, &resource.spec);
        let described = described_version(&resource.key, &resource.spec);
        if let Some(known) = described.and_then(|it| referrers.get_mut(it.kind, &it.name)) {
            known.insert(resource.key);
        }
    }
    Ok(facts)
}
