//! Which approved proposals can be applied now; the others get the reason why not.

use windlass_core::diff::Action;
use windlass_core::gate::Consent;
use windlass_core::proposal::{Status, blockers};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Moved, Proposal, Repository, StoreError};

use crate::gatekeeper::Gatekeeper;
use crate::server::Server;
use crate::world::{Destroys, World};

/// Marks the next group as being applied and returns the ids in order. What a dead server left marked is taken first.
pub(super) async fn choose(
    server: &Server,
    account_id: &str,
    group: usize,
    now: Timestamp,
) -> Result<Vec<String>, StoreError> {
    let mut writing = server.store().write_account(account_id).await?;
    let approved = writing.proposals_to_apply(account_id).await?;
    let left: Vec<String> = approved
        .iter()
        .filter(|proposal| proposal.status == Status::Applying)
        .map(|proposal| proposal.id.clone())
        .collect();
    if !left.is_empty() {
        return Ok(left);
    }
    let Some(account) = writing.account(account_id).await? else { return Ok(Vec::new()) };
    let gatekeeper = Gatekeeper::of(&account);
    let repositories = writing.repositories(account_id).await?;
    let mut world = World::load(&mut writing, account_id, destroys_of(&approved)).await?;
    let group = group_size(group, approved.len());
    let mut chosen = Vec::new();
    for proposal in approved {
        if chosen.len() >= group {
            break;
        }
        let repository = repositories.iter().find(|repository| repository.id == proposal.repository_id);
        if is_ready(&mut writing, &proposal, repository, &gatekeeper, &world, now).await? {
            let moved = plain_move(Status::Approved, Status::Applying, now);
            if writing.proposal_move(&proposal.id, &moved).await? {
                pretend(&mut world, &proposal);
                chosen.push(proposal.id);
            }
        }
    }
    server.commit(writing).await?;
    Ok(chosen)
}

/// The largest group: one commit must not keep the account's other writes waiting for long.
const LARGEST_GROUP: usize = 2_000;

/// How many are applied in one commit: more when many wait, because each group looks at the whole account once.
fn group_size(usual: usize, waiting: usize) -> usize {
    usual.max(waiting / 10).min(LARGEST_GROUP)
}

pub(super) fn destroys_of(proposals: &[Proposal]) -> Destroys {
    match proposals.iter().any(|proposal| proposal.change.action() == Action::Destroy) {
        true => Destroys::Some,
        false => Destroys::None,
    }
}

pub(super) fn plain_move(from: Status, to: Status, at: Timestamp) -> Moved<'static> {
    Moved { from, to, reason: None, decided_by: None, until_change: false, at }
}

/// Whether nothing is in the way. Otherwise the proposal is told what is.
async fn is_ready(
    writing: &mut AccountWriting,
    proposal: &Proposal,
    repository: Option<&Repository>,
    gatekeeper: &Gatekeeper,
    world: &World,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let approvals = writing.approvals(&proposal.id).await?;
    let judgement = gatekeeper.judge(proposal, repository, &approvals, now);
    let mut reasons: Vec<String> = judgement.hold.iter().map(ToString::to_string).collect();
    match judgement.consent {
        Consent::Granted { .. } => {}
        Consent::Refused { reason } => reasons.push(reason),
        Consent::Needed { .. } => {
            // The policy asks for more than it did when this was approved.
            let moved = plain_move(Status::Approved, Status::PendingApproval, now);
            writing.proposal_move(&proposal.id, &moved).await?;
            return Ok(false);
        }
    }
    reasons.extend(blockers(&effective_change(proposal), world));
    if reasons != proposal.blocked_by {
        writing.proposal_block(&proposal.id, &reasons).await?;
    }
    Ok(reasons.is_empty())
}

/// The change as it will be made: with what someone edited, if they did.
pub(super) fn effective_change(proposal: &Proposal) -> windlass_core::diff::Change {
    let mut change = proposal.change.clone();
    change.after = proposal.effective().cloned();
    change.desired = proposal.effective_digest();
    change
}

/// Notes in the world what applying the proposal will make of it.
fn pretend(world: &mut World, proposal: &Proposal) {
    let change = effective_change(proposal);
    match &change.after {
        Some(spec) => {
            world.put(&change.key, change.before.as_deref(), spec, Some(proposal.repository_id.clone()));
        }
        None => world.remove(&change.key, change.before.as_deref()),
    }
}
