//! What a change touches beside the resource itself: what it refers to, and what refers to it.

use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::catalogue::KnownResources;
use windlass_core::id::ProposalId;
use windlass_core::proposal::Status;
use windlass_core::resource::ResourceKey;
use windlass_store::{ProposalFilter, Reading};
use windlass_web::pages::proposal::{BlastRadius, Neighbour, NeighbourState};

/// Neighbours told of each sort.
const MAX_TOLD: usize = 100;

/// What a proposal's change touches.
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

/// What a resource refers to, and what refers to it.
pub(super) async fn blast_radius_of(
    reading: &mut Reading,
    who: &Identity,
    key: &ResourceKey,
    targets: &[ResourceKey],
) -> Result<BlastRadius, Refusal> {
    let built_in = KnownResources::offline();
    let mut reach = BlastRadius::default();
    for target in targets.iter().take(MAX_TOLD) {
        let standing = standing(reading, who, target, &built_in).await?;
        reach.refers_to.push(neighbour(target, standing));
    }
    referrers(reading, who, key, &mut reach).await?;
    Ok(reach)
}

fn neighbour(key: &ResourceKey, standing: NeighbourState) -> Neighbour {
    Neighbour { kind: key.kind.slug().to_owned(), name: key.name.clone(), status: standing }
}

pub(super) fn open() -> ProposalFilter {
    let statuses = Status::ALL.iter().copied().filter(|status| status.is_open()).collect();
    ProposalFilter { statuses, ..ProposalFilter::default() }
}

async fn standing(
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

/// What is accepted and refers to a resource, then what is proposed and waits for it.
async fn referrers(
    reading: &mut Reading,
    who: &Identity,
    key: &ResourceKey,
    reach: &mut BlastRadius,
) -> Result<(), Refusal> {
    let mut found = reading.referrers_of(&who.account_id, key, MAX_TOLD + 1).await?;
    reach.is_cut = found.len() > MAX_TOLD;
    found.truncate(MAX_TOLD);
    let waiting = ProposalFilter { waits_for: Some(key.to_string()), ..open() };
    let waiting = reading.proposals_in_order(&who.account_id, &waiting, None, MAX_TOLD).await?;
    let proposed = waiting.into_iter().filter(|proposal| !found.contains(&proposal.change.key));
    let proposed: Vec<Neighbour> = proposed
        .map(|proposal| neighbour(&proposal.change.key, NeighbourState::Proposed(proposal.id.to_string())))
        .collect();
    reach.referred_by =
        found.iter().map(|key| neighbour(key, NeighbourState::Accepted)).chain(proposed).collect();
    Ok(())
}
