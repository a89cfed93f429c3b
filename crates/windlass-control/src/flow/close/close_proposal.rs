//! Ending proposals: the new state, the event, the audit entry and what it makes of their runs. All ends pass here but
//! rejections, which are decisions and have an audit entry of their own.

use serde_json::json;
use windlass_core::id::{ProposalId, RunId};
use windlass_core::proposal::{CloseReason, Proposal, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, ProposalMove, StoreError};

use crate::flow::close::update_runs;
use crate::record;

/// The end of a proposal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProposalClosing<'e> {
    pub(crate) proposal: &'e Proposal,
    pub(crate) status: Status,
    pub(crate) reason: Option<&'e CloseReason>,
    /// Who or what brings it about, for the event.
    pub(crate) by: &'e str,
    /// The run that tells of it.
    pub(crate) run_id: Option<&'e RunId>,
}

impl<'e> ProposalClosing<'e> {
    /// An ending that Windlass itself brings about, told by the run that opened the proposal.
    pub(crate) fn new(
        proposal: &'e Proposal,
        status: Status,
        reason: Option<&'e CloseReason>,
    ) -> ProposalClosing<'e> {
        ProposalClosing { proposal, status, reason, by: "windlass", run_id: proposal.run_id.as_ref() }
    }

    /// How the audit log calls it. What was applied has an entry of its own, with the resource.
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

/// Ends proposals as they were loaded in the same transaction, and brings their runs up to date; `except` is a run that
/// is just being made.
pub(crate) async fn close_proposals(
    writing: &mut AccountWriting,
    endings: &[ProposalClosing<'_>],
    except: Option<&RunId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let moves: Vec<(&ProposalId, ProposalMove<'_>)> = endings
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
    for ending in endings {
        let ProposalClosing { proposal, status, reason, by, run_id } = *ending;
        let reason = reason.map(ToString::to_string);
        writing.event(record::proposal_event(proposal, run_id, status, by, reason.as_deref(), now));
        if let Some(action) = ending.audit_action() {
            let detail = json!({"reason": reason, "run_id": run_id.map_or("", RunId::as_str)});
            let target = ("proposal", proposal.id.as_str());
            writing.audit(record::audit_entry(&Actor::windlass(), action, target, detail, now));
        }
    }
    let ids: Vec<&ProposalId> = endings.iter().map(|ending| &ending.proposal.id).collect();
    update_runs::update_runs(writing, &ids, except, now).await
}
