//! What becomes of approved proposals now.

use std::collections::BTreeMap;

use super::gatekeeper::{Gatekeeper, governing_repository};
use super::world::AccountState;
use crate::diff::Change;
use crate::gate::Consent;
use crate::id::{ProposalId, RepositoryId};
use crate::proposal::{Approval, BlockedBy, CloseReason, Proposal, Status};
use crate::repository::Repository;
use crate::target_assignment::CoveringApproval;
use crate::time::Timestamp;

/// What becomes of an approved proposal.
#[derive(Debug)]
pub enum Verdict {
    /// Its change is made, and the resource is this repository's afterwards, or nobody's.
    Apply {
        /// What is made.
        change: Change,
        /// Whose it is then.
        owner_id: Option<RepositoryId>,
        /// Who or what approved it.
        approval: CoveringApproval,
    },
    /// It ends, and nothing is made.
    End(Status, CloseReason),
    /// It has not the approvals that it needs by now: the policy asks for more, or someone may not approve any more.
    AskAgain(CloseReason),
    /// These are in the way.
    Wait(Vec<BlockedBy>),
}

/// What approved changes are made in: what exists around them, and what the gate says by now.
#[derive(Debug)]
pub struct ApplyContext {
    /// What exists around them.
    pub world: AccountState,
    /// The gate.
    pub gatekeeper: Gatekeeper,
    /// The account's repositories.
    pub repositories: Vec<Repository>,
    /// The approvals given, by the id of their proposal.
    pub approvals: BTreeMap<ProposalId, Vec<Approval>>,
    /// The moment at which all of it holds.
    pub now: Timestamp,
}

impl ApplyContext {
    /// Decides about one proposal, and goes on as if what was decided were done.
    pub fn judge(&mut self, proposal: &Proposal) -> Verdict {
        let repository = governing_repository(proposal, &self.repositories);
        if repository.is_none() && !proposal.is_direct() {
            return Verdict::End(Status::Superseded, CloseReason::RepositoryGone);
        }
        let approvals = self.approvals.get(&proposal.id).map(Vec::as_slice).unwrap_or_default();
        let judgement = self.gatekeeper.judge(proposal, repository, approvals, self.now);
        let approval = CoveringApproval::of_proposal(&proposal.id, &judgement);
        let mut reasons: Vec<BlockedBy> = judgement.hold.into_iter().map(BlockedBy::from).collect();
        match judgement.consent {
            Consent::Granted { .. } => {}
            Consent::Refused { reason } => reasons.push(BlockedBy::Policy(reason)),
            Consent::Needed { reasons, .. } => {
                return Verdict::AskAgain(CloseReason::ApprovalsMissing { reasons });
            }
        }
        let Some(approval) = approval.filter(|_| reasons.is_empty()) else { return Verdict::Wait(reasons) };
        let change = self.world.over_made_version(proposal.effective_change());
        if let Some((status, reason)) = self.why_outdated(proposal, &change) {
            return Verdict::End(status, reason);
        }
        let reasons = self.world.blockers(proposal.candidate(&change));
        if !reasons.is_empty() {
            return Verdict::Wait(reasons);
        }
        // A direct change leaves a resource with whoever owns it.
        let owner_id = match proposal.is_direct() {
            true => self.world.accepted(&change.key).and_then(|standing| standing.owner_id.clone()),
            false => proposal.repository_id.clone(),
        };
        self.world.note_applied(&change, owner_id.as_ref());
        let owner = self.repositories.iter().find(|repository| Some(&repository.id) == owner_id.as_ref());
        let file = proposal.declared_at.as_ref().map(|(file, _)| file.as_str());
        self.gatekeeper.note_applied(&change, owner, file);
        Verdict::Apply { change, owner_id, approval }
    }

    /// How a proposal ends that was not approved against the accepted state now.
    fn why_outdated(&self, proposal: &Proposal, change: &Change) -> Option<(Status, CloseReason)> {
        let standing = self.world.accepted(&change.key);
        let accepted = standing.map(|standing| standing.digest);
        let owner = standing.and_then(|standing| standing.owner_id.as_ref());
        // A direct change was to pass the rules about whoever owned the resource then.
        if accepted == change.base && proposal.is_direct() && owner != proposal.owner_id.as_ref() {
            return Some((Status::Withdrawn, CloseReason::OwnerChanged));
        }
        // What another repository owns by now is not lost: it is in conflict, and waits.
        if accepted == change.base {
            return None;
        }
        // What someone made by hand belongs to nobody, and is what was to be made nevertheless; the next sync adopts it.
        let is_made = change.base.is_none() && owner.is_none();
        let is_kept =
            proposal.is_direct() || accepted.is_none() || owner == proposal.repository_id.as_ref() || is_made;
        let is_done = accepted == change.desired && is_kept;
        Some(match is_done {
            true => (Status::AppliedManually, CloseReason::MadeByHand),
            false => (Status::Superseded, CloseReason::AcceptedMovedSinceApproval),
        })
    }
}
