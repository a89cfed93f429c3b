//! Who holds the names and addresses that changes claim, loaded as far as these changes need it: most claim only their name.

use std::collections::BTreeSet;

use windlass_core::accepted::{Accepted, AcceptedResource, Owner};
use windlass_core::allocate::allocate;
use windlass_core::conflict::{AddressClaim, Candidate, ClaimScope, Holdings, new_claims};
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::{Reading, Resource, ResourceFilter, ResourceHead, StoreError};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::names::repository_names;

/// Loads who holds the names and addresses. `near` has the accepted resources that the changes change or refer to.
pub(crate) async fn load(
    reading: &mut Reading,
    account_id: &AccountId,
    candidates: &[Candidate<'_>],
    near: &[ResourceHead],
    declarations: DeclarationSource<'_>,
) -> Result<Holdings, StoreError> {
    let mut holdings = Holdings::default();
    near.iter().for_each(|head| holdings.note_owner(&head.key, head.owner_id.as_ref()));
    let claimants: BTreeSet<&RepositoryId> =
        candidates.iter().filter_map(|candidate| candidate.claimant.repository()).collect();
    load_declarations(reading, &mut holdings, candidates, near, declarations).await?;
    let is_foreign = |owner: &&RepositoryId| claimants.len() != 1 || !claimants.contains(owner);
    if near.iter().filter_map(|head| head.owner_id.as_ref()).any(|owner| is_foreign(&owner)) {
        name_repositories(reading, &mut holdings, account_id).await?;
    }
    let mut members = BTreeSet::new();
    let mut has_claims = false;
    for Candidate { change, .. } in candidates {
        for claim in new_claims(change) {
            has_claims = true;
            members.extend(networks_of_claim(&change.key, claim));
        }
    }
    if has_claims {
        name_repositories(reading, &mut holdings, account_id).await?;
        load_addresses(reading, &mut holdings, account_id, &members).await?;
    }
    // A repository's own proposals do not conflict with its changes.
    let own = claimants.first().filter(|_| claimants.len() == 1);
    if !claimants.is_empty() {
        for proposal in reading.proposals_open_of_others(account_id, own.copied()).await? {
            holdings.propose(proposal);
        }
    }
    Ok(holdings)
}

async fn name_repositories(
    reading: &mut Reading,
    holdings: &mut Holdings,
    account_id: &AccountId,
) -> Result<(), StoreError> {
    let names = repository_names(reading, account_id).await?;
    names.iter().for_each(|(id, name)| holdings.name_repository(id, name));
    Ok(())
}

/// Loads which resources in `near` the claimants declare although another repository owns them.
async fn load_declarations(
    reading: &mut Reading,
    holdings: &mut Holdings,
    candidates: &[Candidate<'_>],
    near: &[ResourceHead],
    declarations: DeclarationSource<'_>,
) -> Result<(), StoreError> {
    let claimants: BTreeSet<&RepositoryId> =
        candidates.iter().filter_map(|candidate| candidate.claimant.repository()).collect();
    let mut pairs: Vec<(&RepositoryId, &ResourceKey)> = Vec::new();
    for head in near {
        let Some(owner) = head.owner_id.as_ref() else { continue };
        pairs.extend(claimants.iter().filter(|id| **id != owner).map(|id| (*id, &head.key)));
    }
    match declarations {
        DeclarationSource::Stored => {
            for (repository, key) in reading.desired_among(&pairs).await? {
                holdings.declare(&repository, key);
            }
        }
        DeclarationSource::Read(desired) => {
            for (repository, key) in pairs {
                if desired.resources.contains(key.kind, &key.name) {
                    holdings.declare(repository, key.clone());
                }
            }
        }
    }
    Ok(())
}

/// The kinds and networks of the resources whose addresses can conflict with a claim of a resource.
fn networks_of_claim(key: &ResourceKey, claim: AddressClaim) -> Vec<(Kind, String)> {
    match claim.scope {
        ClaimScope::Networks => vec![(Kind::VirtualIp, key.name.clone())],
        ClaimScope::LanSubnets(network) => vec![(Kind::Peer, network)],
        ClaimScope::Addresses(network) => vec![(Kind::Peer, network.clone()), (Kind::VirtualIp, network)],
    }
}

/// Loads which addresses are taken where the changes claim some: declared and allocated ones. Declaring an allocated address
/// would move the resource that has it.
async fn load_addresses(
    reading: &mut Reading,
    holdings: &mut Holdings,
    account_id: &AccountId,
    members: &BTreeSet<(Kind, String)>,
) -> Result<(), StoreError> {
    let filter = ResourceFilter { kind: Some(Kind::Network), ..ResourceFilter::default() };
    let mut found = reading.resources_page(account_id, &filter, None, i32::MAX as usize).await?;
    for (kind, network) in members {
        found.extend(reading.resources_in(account_id, *kind, network).await?);
    }
    let accepted = Accepted { resources: found.iter().map(accepted_resource).collect() };
    let allocation = allocate(account_id, &accepted);
    for resource in &found {
        let allocated = AddressClaim::allocated(&resource.key, &allocation);
        holdings.accept(&resource.key, resource.owner_id.as_ref(), &resource.spec, allocated);
    }
    Ok(())
}

fn accepted_resource(resource: &Resource) -> (ResourceKey, AcceptedResource) {
    let spec = std::sync::Arc::clone(&resource.spec);
    (resource.key.clone(), AcceptedResource { spec, digest: resource.digest, owner: Owner::Nobody })
}
