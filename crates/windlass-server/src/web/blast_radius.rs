//! The blast radius of a change: the resources that it refers to, and those that refer to it.

use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::catalogue::KnownResources;
use windlass_core::id::ProposalId;
use windlass_core::proposal::Status;
use windlass_core::resource::ResourceKey;
use windlass_store::{ProposalFilter, Reading};
use windlass_web::pages::proposal::{BlastRadius, Neighbour, NeighbourState};

/// How many resources are shown in each direction.
const MAX_NEIGHBOURS: usize = 100;

/// The blast radius of a proposal's change.
pub(super) async fn load_blast_radius(
    reading: &mut Reading,
    who: &Identity,
    id: &ProposalId,
) -> Result<BlastRadius, Refusal> {
    let proposal = reading.proposal(&who.account_id, id).await?.ok_or_else(Refusal::not_found)?;
    let key = &proposal.change.key;
    let spec = proposal.effective().or(proposal.change.before.as_ref());
    let targets = spec.map(|spec| spec.targets(&key.name)).unwrap_or_default();
    blast_radius_of(reading, who, key, &targets).await
}

/// The blast radius of a resource with these references.
pub(super) async fn blast_radius_of(
    reading: &mut Reading,
    who: &Identity,
    key: &ResourceKey,
    targets: &[ResourceKey],
) -> Result<BlastRadius, Refusal> {
    let built_in = KnownResources::offline();
    let mut radius = BlastRadius::default();
    for target in targets.iter().take(MAX_NEIGHBOURS) {
        let status = state_of(reading, who, target, &built_in).await?;
        radius.refers_to.push(neighbour(target, status));
    }
    referrers(reading, who, key, &mut radius).await?;
    Ok(radius)
}

fn neighbour(key: &ResourceKey, status: NeighbourState) -> Neighbour {
    Neighbour { kind: key.kind.slug().to_owned(), name: key.name.clone(), status }
}

pub(super) fn open() -> ProposalFilter {
    let statuses = Status::ALL.iter().copied().filter(|status| status.is_open()).collect();
    ProposalFilter { statuses, ..ProposalFilter::default() }
}

async fn state_of(
    reading: &mut Reading,
    who: &Identity,
    key: &ResourceKey,
    built_in: &KnownResources,
) -> Result<NeighbourState, Refusal> {
    if reading.resource(&who.account_id, key).await?.is_some() {
        return Ok(NeighbourState::Accepted);
    }
    let about = ProposalFilter { kind: Some(key.kind), name: Some(key.name.clone()), ..open() };
    if let Some(proposal) = reading.proposals(&who.account_id, &about, None, 1).await?.pop() {
        return Ok(NeighbourState::Proposed(proposal.id.to_string()));
    }
    Ok(if built_in.has(key.kind, &key.name) { NeighbourState::BuiltIn } else { NeighbourState::Missing })
}

/// Adds the accepted resources that refer to a resource, then the proposed ones that depend on it.
async fn referrers(
    reading: &mut Reading,
    who: &Identity,
    key: &ResourceKey,
    radius: &mut BlastRadius,
) -> Result<(), Refusal> {
    let mut found = reading.referrers_of(&who.account_id, key, MAX_NEIGHBOURS + 1).await?;
    radius.is_cut = found.len() > MAX_NEIGHBOURS;
    found.truncate(MAX_NEIGHBOURS);
    let waiting = ProposalFilter { waits_for: Some(key.to_string()), ..open() };
    let waiting = reading.proposals_in_order(&who.account_id, &waiting, None, MAX_NEIGHBOURS).await?;
    let proposed = waiting.into_iter().filter(|proposal| !found.contains(&proposal.change.key));
    let proposed: Vec<Neighbour> = proposed
        .map(|proposal| neighbour(&proposal.change.key, NeighbourState::Proposed(proposal.id.to_string())))
        .collect();
    radius.referred_by =
        found.iter().map(|key| neighbour(key, NeighbourState::Accepted)).chain(proposed).collect();
    Ok(())
}
