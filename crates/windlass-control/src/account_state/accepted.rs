//! The accepted state of an account, loaded as far as a decision needs it.

use std::sync::Arc;

use windlass_core::accepted::{Accepted, AcceptedResource, Owner};
use windlass_core::account::Account;
use windlass_core::catalogue::KnownResources;
use windlass_core::desired::Desired;
use windlass_core::id::AccountId;
use windlass_core::manifest::ReadContext;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_store::{Reading, Resource, StoreError};

use crate::account_state::modules::load_known_modules;
use crate::account_state::names::{RepositoryNames, owner_of};

/// When more specs than this are needed, reading all is faster than looking each up.
const FULL_SCAN_THRESHOLD: usize = 5_000;

/// The accepted state of the account, for comparing with what a repository declares. A spec whose digest equals the
/// declared one is not read from the database: the same digest means the same spec.
pub(crate) async fn load_accepted(
    reading: &mut Reading,
    account_id: &AccountId,
    desired: &Desired,
    names: &RepositoryNames,
) -> Result<Accepted, StoreError> {
    let heads = reading.resource_heads(account_id).await?;
    let mut accepted = Accepted::default();
    let mut unread = Vec::new();
    for head in heads {
        let owner = owner_of(head.owner_id.as_ref(), names);
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
    let others = match owners.len() > FULL_SCAN_THRESHOLD {
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
pub(crate) async fn load_accepted_of(
    reading: &mut Reading,
    account_id: &AccountId,
    keys: &[ResourceKey],
    names: &RepositoryNames,
) -> Result<Accepted, StoreError> {
    let mut accepted = Accepted::default();
    for resource in reading.resources_of(account_id, keys).await? {
        let owner = owner_of(resource.owner_id.as_ref(), names);
        accepted.resources.insert(resource.key.clone(), accepted_resource(resource, owner));
    }
    Ok(accepted)
}

fn accepted_resource(resource: Resource, owner: Owner) -> AcceptedResource {
    AcceptedResource { spec: resource.spec, digest: resource.digest, owner }
}

/// The resources and module versions that a fleet's files may refer to in this account.
pub(crate) async fn reading_context(
    reading: &mut Reading,
    account: &Account,
) -> Result<ReadContext, StoreError> {
    let mut known = KnownResources::offline();
    for head in reading.resource_heads(&account.id).await? {
        known.resources.insert(head.key, ());
    }
    known.set_versions(&load_known_modules(reading, &account.id).await?);
    let account_words = vec![account.id.to_string(), account.name.clone()];
    Ok(ReadContext { account: Some(account_words), known })
}
