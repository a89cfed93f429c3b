//! Opening proposals for the steps of a plan, and keeping those that still stand in their place.

use windlass_core::conflict::Claimant;
use windlass_core::plan::{Plan, Step};
use windlass_core::proposal::{Reconciled, Status};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Account, AccountWriting, Placed, Proposal, Repository, Run, StoreError, new_id};

use crate::gatekeeper::Gatekeeper;
use crate::grant::{granted, let_through, tell_grant};
use crate::holdings::{Candidate, Declarations};
use crate::tell;
use crate::world::World;

/// What a run offers, and in which circumstances.
pub(crate) struct Offer<'o> {
    pub(crate) account: &'o Account,
    pub(crate) repository: &'o Repository,
    pub(crate) run: &'o Run,
    pub(crate) plan: &'o Plan,
    /// The files that declared resources at the last good run before.
    pub(crate) previous_files: ResourceMap<String>,
    pub(crate) expires_at: Timestamp,
    pub(crate) now: Timestamp,
}

impl Offer<'_> {
    fn step(&self, position: usize) -> &Step {
        &self.plan.steps[position]
    }

    /// The change of a step, wanted by the repository, with its proposal if there is one already.
    fn candidate<'c>(&'c self, position: usize, proposal: Option<&'c str>) -> Candidate<'c> {
        let claimant = Claimant::Repository { id: &self.repository.id, proposal };
        Candidate { change: &self.step(position).change, claimant }
    }
}

/// Opens new proposals, places standing ones anew, and lets through what the gate lets through by itself.
pub(crate) async fn open_proposals(
    writing: &mut AccountWriting,
    offer: &Offer<'_>,
    reconciled: &Reconciled,
    declared_at: impl FnOnce(&[ResourceKey]) -> Vec<Option<(String, usize)>>,
) -> Result<(), StoreError> {
    let positions = reconciled.keep.iter().map(|(_, position)| position).chain(&reconciled.open);
    let candidates: Vec<Candidate<'_>> = positions.map(|position| offer.candidate(*position, None)).collect();
    let world = World::around(writing, &offer.account.id, &candidates, Declarations::Stored).await?;
    let gatekeeper = Gatekeeper::of(offer.account);
    keep(writing, offer, reconciled, &world, &gatekeeper).await?;
    let keys: Vec<ResourceKey> =
        reconciled.open.iter().map(|position| offer.step(*position).change.key.clone()).collect();
    let places = declared_at(&keys);
    let mut opened = Vec::with_capacity(keys.len());
    for (position, place) in reconciled.open.iter().zip(places) {
        let step = offer.step(*position);
        let mut proposal = new_proposal(offer, step, *position, place);
        proposal.blocked_by = world.blockers(offer.candidate(*position, None));
        let run_id = &offer.run.id;
        let event =
            tell::proposal_event(&proposal, run_id, Status::PendingApproval, "windlass", None, offer.now);
        writing.event(event);
        let judgement = gatekeeper.judge(&proposal, Some(offer.repository), &[], offer.now);
        if let Some(grant) = granted(&judgement) {
            proposal.status = Status::Approved;
            proposal.decided_by = Some(grant.by.clone());
            proposal.decided_at = Some(offer.now);
            tell_grant(writing, &proposal, run_id, &grant, offer.now);
        }
        opened.push(proposal);
    }
    let waiting: Vec<&Proposal> =
        opened.iter().filter(|proposal| proposal.status == Status::PendingApproval).collect();
    if !waiting.is_empty() {
        writing.event(tell::approval_requested(offer.run, &waiting, offer.now));
    }
    writing.proposals_add(&opened).await
}

fn new_proposal(
    offer: &Offer<'_>,
    step: &Step,
    position: usize,
    declared_at: Option<(String, usize)>,
) -> Proposal {
    Proposal {
        id: new_id(),
        account_id: offer.account.id.clone(),
        repository_id: offer.repository.id.clone(),
        repository_name: offer.repository.name.clone(),
        run_id: offer.run.id.clone(),
        change: step.change.clone(),
        position,
        edit: None,
        commit_sha: offer.run.commit_sha.clone().unwrap_or_default(),
        author: offer.run.commit_email.clone(),
        contributors: offer.run.contributors.clone(),
        owner_id: None,
        direct_reason: None,
        previous_file: offer.previous_files.get(step.change.key.kind, &step.change.key.name).cloned(),
        declared_at,
        status: Status::PendingApproval,
        blocked_by: Vec::new(),
        waits_for: waits_of(step),
        reason: None,
        decided_by: None,
        until_change: false,
        opened_at: offer.now,
        expires_at: offer.expires_at,
        decided_at: None,
        closed_at: None,
        version: 1,
    }
}

fn waits_of(step: &Step) -> Vec<String> {
    step.waits_for.iter().map(ToString::to_string).collect()
}

/// Proposals that still stand: their place in the new order, and what they wait for now.
async fn keep(
    writing: &mut AccountWriting,
    offer: &Offer<'_>,
    reconciled: &Reconciled,
    world: &World,
    gatekeeper: &Gatekeeper,
) -> Result<(), StoreError> {
    let run_id = offer.run.id.as_str();
    let members: Vec<(&str, &str, usize)> =
        reconciled.keep.iter().map(|(id, position)| (run_id, id.as_str(), *position)).collect();
    writing.run_proposals_add(&members).await?;
    let placed: Vec<Placed<'_>> = reconciled
        .keep
        .iter()
        .map(|(id, position)| {
            let step = offer.step(*position);
            let blocked_by = world.blockers(offer.candidate(*position, Some(id)));
            Placed { id, position: *position, waits_for: waits_of(step), blocked_by }
        })
        .collect();
    writing.proposals_place(&placed).await?;
    let ids: Vec<&str> = reconciled.keep.iter().map(|(id, _)| id.as_str()).collect();
    let kept = writing.proposals_by_id(&offer.account.id, &ids).await?;
    let approvals = writing.approvals_of(&ids).await?;
    let grants: Vec<_> = kept
        .iter()
        .filter(|proposal| proposal.status == Status::PendingApproval)
        .filter_map(|proposal| {
            let given = approvals.get(&proposal.id).map(Vec::as_slice).unwrap_or_default();
            let judgement = gatekeeper.judge(proposal, Some(offer.repository), given, offer.now);
            Some((proposal, granted(&judgement)?))
        })
        .collect();
    let_through(writing, &grants, Some(run_id), offer.now).await
}
