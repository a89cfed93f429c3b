//! A new plan × what is already offered → what to keep, to close and to open.

use std::collections::BTreeSet;

use super::Status;
use super::close_reason::CloseReason;
use super::opening::free_slots;
use crate::accepted::Accepted;
use crate::digest::Digest;
use crate::id::ProposalId;
use crate::plan::{Plan, PlanStep, ProposalHistory, next_batch};
use crate::resource::{ResourceKey, ResourceMap};

/// An open proposal of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExistingProposal {
    /// Its id.
    pub id: ProposalId,
    /// What it changes.
    pub key: ResourceKey,
    /// The accepted state it was made against.
    pub base: Option<Digest>,
    /// What git wanted when it was made.
    pub desired: Option<Digest>,
    /// Where it is in its life.
    pub status: Status,
}

/// A change that someone rejected, as it was then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedChange {
    /// What it would have changed.
    pub key: ResourceKey,
    /// The accepted state it was made against.
    pub base: Option<Digest>,
    /// What git wanted.
    pub desired: Option<Digest>,
    /// Whether it is not to be offered again before it changes.
    pub until_change: bool,
}

/// The end of a proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClosingDecision {
    /// Which.
    pub id: ProposalId,
    /// How it ends.
    pub status: Status,
    /// Why.
    pub reason: CloseReason,
}

/// How many proposals of a repository may be open at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProposalCap {
    /// How many.
    pub limit: usize,
    /// Open ones that no decision of people can bring on, by id: they take no room.
    pub stuck: BTreeSet<ProposalId>,
}

/// What a new plan means for the repository's proposals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReconcileResult {
    /// Open ones that still stand, each with its position in the plan.
    pub keep: Vec<(ProposalId, usize)>,
    /// Open ones that end.
    pub close: Vec<ClosingDecision>,
    /// Positions in the plan to offer now, ascending.
    pub open: Vec<usize>,
    /// Changes that are not open yet.
    pub remaining: usize,
    /// The first position that was never offered and is not open yet: where opening goes on when others are done.
    pub next: Option<usize>,
    /// Changes that are not offered because someone rejected them until they change.
    pub held_back: Vec<usize>,
}

/// Decides what becomes of the repository's proposals. A proposal is identified by its resource, the accepted state it was
/// made against and what git wants: while these stay, so does it, and it is never offered twice.
pub fn reconcile(
    plan: &Plan,
    offered: &[ExistingProposal],
    declined: &[RejectedChange],
    accepted: &Accepted,
    cap: &ProposalCap,
) -> ReconcileResult {
    let positions: ResourceMap<usize> =
        plan.steps.iter().enumerate().map(|(position, step)| (step.change.key.clone(), position)).collect();
    let declined: ResourceMap<&RejectedChange> =
        declined.iter().map(|declined| (declined.key.clone(), declined)).collect();
    let mut result = ReconcileResult::default();
    let mut is_open = vec![false; plan.steps.len()];
    for proposal in offered {
        let position = positions.get(proposal.key.kind, &proposal.key.name).copied();
        match closing_of(proposal, position.map(|position| &plan.steps[position]), accepted) {
            Some(closing) => result.close.push(closing),
            None => {
                if let Some(position) = position {
                    is_open[position] = true;
                    result.keep.push((proposal.id.clone(), position));
                }
            }
        }
    }
    let refusal_of = |step: &PlanStep| {
        let key = &step.change.key;
        declined
            .get(key.kind, &key.name)
            .filter(|declined| declined.base == step.change.base && declined.desired == step.change.desired)
    };
    result.held_back = (0..plan.steps.len())
        .filter(|position| !is_open[*position])
        .filter(|position| refusal_of(&plan.steps[*position]).is_some_and(|declined| declined.until_change))
        .collect();
    let standing = |position: usize, step: &PlanStep| match refusal_of(step) {
        _ if is_open[position] => ProposalHistory::Open,
        Some(declined) if declined.until_change => ProposalHistory::Open,
        Some(_) => ProposalHistory::Rejected,
        None => ProposalHistory::New,
    };
    let stuck = result.keep.iter().filter(|(id, _)| cap.stuck.contains(id)).count();
    let slots = free_slots(cap.limit, result.keep.len(), stuck);
    let standings: Vec<ProposalHistory> =
        plan.steps.iter().enumerate().map(|(position, step)| standing(position, step)).collect();
    let batch = next_batch(&plan.steps, slots, |step| {
        let key = &step.change.key;
        positions.get(key.kind, &key.name).map_or(ProposalHistory::New, |position| standings[*position])
    });
    let is_left = |position: &usize| {
        standings[*position] == ProposalHistory::New && batch.taken.binary_search(position).is_err()
    };
    result.next = (0..plan.steps.len()).find(is_left);
    result.open = batch.taken;
    result.remaining = batch.remaining;
    result
}

/// How an open proposal ends because of the new plan, if it does.
fn closing_of(
    proposal: &ExistingProposal,
    step: Option<&PlanStep>,
    accepted: &Accepted,
) -> Option<ClosingDecision> {
    let close = |status, reason| Some(ClosingDecision { id: proposal.id.clone(), status, reason });
    match step {
        Some(step) if step.change.base == proposal.base && step.change.desired == proposal.desired => None,
        Some(step) if step.change.desired == proposal.desired => {
            close(Status::Superseded, CloseReason::AcceptedMoved)
        }
        Some(_) => close(Status::Superseded, CloseReason::GitMoved),
        None if proposal.status == Status::Approved && is_done(proposal, accepted) => {
            close(Status::AppliedManually, CloseReason::MadeByHand)
        }
        None => close(Status::Withdrawn, CloseReason::NoDifference),
    }
}

fn is_done(proposal: &ExistingProposal, accepted: &Accepted) -> bool {
    accepted.resources.get(proposal.key.kind, &proposal.key.name).map(|accepted| accepted.digest)
        == proposal.desired
}

#[cfg(test)]
#[path = "reconcile_tests.rs"]
mod tests;
