//! Closes proposals: stores the new state, the event and the audit entry, and updates their runs. Every way to close a
//! proposal uses this, except rejections, which are decisions and have their own audit entry.

use serde_json::json;
use windlass_core::id::{ProposalId, RunId};
use windlass_core::proposal::{CloseReason, Proposal, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, ProposalMove, StoreError};

use crate::flow::close::update_runs;
use crate::record;

/// How a proposal is closed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProposalClosing<'e> {
    pub(crate) proposal: &'e Proposal,
    pub(crate) status: Status,
    pub(crate) reason: Option<&'e CloseReason>,
    /// Who or what closes it, for the event.
    pub(crate) by: &'e str,
    /// The run that the event refers to.
    pub(crate) run_id: Option<&'e RunId>,
}

impl<'e> ProposalClosing<'e> {
    /// Windlass itself closes the proposal, and the event refers to the run that opened it.
    pub(crate) fn new(
        proposal: &'e Proposal,
        status: Status,
        reason: Option<&'e CloseReason>,
    ) -> ProposalClosing<'e> {
        ProposalClosing { proposal, status, reason, by: "windlass", run_id: proposal.run_id.as_ref() }
    }

    /// The action in the audit log. An applied proposal has another entry, with the resource.
    fn audit_action(&self) -> Option<&'static str> {
        match self.status {
            Status::Applied => None,
            Status::Superseded => Some("proposal.supersede"),
            Status::Withdrawn => Some("proposal.withdraw"),
            Status::Expired => Some("proposal.expire"),
            _ => Some("proposal.close"),
        }
    }
}

/// Closes proposals that were loaded in the same transaction, and updates their runs. `except` is the run that is being
/// saved.
pub(crate) async fn close_proposals(
    writing: &mut AccountWriting,
    closings: &[ProposalClosing<'_>],
    except: Option<&RunId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let moves: Vec<(&ProposalId, ProposalMove<'_>)> = closings
        .iter()
        .map(|ProposalClosing { proposal, status, reason, .. }| {
            let moved = ProposalMove {
                from: proposal.status,
                to: *status,
                reason: *reason,
                decided_by: None,
                until_change: false,
                at: now,
            };
            (&proposal.id, moved)
        })
        .collect();
    writing.proposals_move(&moves).await?;
    for closing in closings {
        let ProposalClosing { proposal, status, reason, by, run_id } = *closing;
        let reason = reason.map(ToString::to_string);
        writing.event(record::proposal_event(proposal, run_id, status, by, reason.as_deref(), now));
        if let Some(action) = closing.audit_action() {
            let detail = json!({"reason": reason, "run_id": run_id.map_or("", RunId::as_str)});
            let target = ("proposal", proposal.id.as_str());
            writing.audit(record::audit_entry(&Actor::windlass(), action, target, detail, now));
        }
    }
    let ids: Vec<&ProposalId> = closings.iter().map(|closing| &closing.proposal.id).collect();
    update_runs::update_runs(writing, &ids, except, now).await
}
