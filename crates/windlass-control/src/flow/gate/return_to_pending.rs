//! Returns approved proposals to pending when they no longer have the approvals that they need.

use serde_json::json;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::id::ProposalId;
use windlass_core::proposal::{CloseReason, Proposal, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, ProposalMove, StoreError};

use crate::record;

/// Returns approved proposals that were loaded in the same transaction to pending, each with its reason, event and
/// audit entry.
pub(crate) async fn return_to_pending(
    writing: &mut AccountWriting,
    returned: &[(&Proposal, CloseReason)],
    now: Timestamp,
) -> Result<(), StoreError> {
    let moves: Vec<(&ProposalId, ProposalMove<'_>)> = returned
        .iter()
        .map(|(proposal, reason)| {
            let moved = ProposalMove {
                from: Status::Approved,
                to: Status::PendingApproval,
                reason: Some(reason),
                decided_by: None,
                until_change: false,
                at: now,
            };
            (&proposal.id, moved)
        })
        .collect();
    writing.proposals_move(&moves).await?;
    for (proposal, reason) in returned {
        record_event(writing, proposal, &reason.to_string(), now);
    }
    Ok(())
}

fn record_event(writing: &mut AccountWriting, proposal: &Proposal, reason: &str, now: Timestamp) {
    let event = record::proposal_event(
        proposal,
        proposal.run_id.as_ref(),
        Status::PendingApproval,
        "windlass",
        Some(reason),
        now,
    );
    let key = &proposal.change.key;
    writing.event(NewEvent {
        kind: EventKind::ProposalAskedAgain,
        severity: Severity::Medium,
        message: format!("needs approval again: {} {key}: {reason}", proposal.change.action()),
        ..event
    });
    let detail = json!({"reason": reason, "resource": key.to_string()});
    let target = ("proposal", proposal.id.as_str());
    writing.audit(record::audit_entry(&Actor::windlass(), "proposal.ask_again", target, detail, now));
}
