//! Rejecting proposals.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::id::ProposalId;
use windlass_core::proposal::{CloseReason, Proposal, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, ProposalMove, StoreError};

use crate::ask::proposal::decision::{DecisionError, DecisionResult, record_refusal, single_result};
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::flow::close::update_runs;
use crate::record;

const ACTION: &str = "proposal.reject";

/// The reason for a rejection, and how long it holds.
#[derive(Clone, Copy, Debug)]
pub struct RejectRequest<'r> {
    /// The reason, if the caller gave one.
    pub reason: Option<&'r str>,
    /// Whether Windlass does not propose the change again until it changes.
    pub until_change: bool,
}

/// Rejects a proposal.
pub async fn reject(
    server: &Control,
    who: &Identity,
    id: &ProposalId,
    rejection: RejectRequest<'_>,
) -> DecisionResult {
    single_result(reject_all(server, who, &[id], rejection).await?)
}

/// Rejects proposals in one transaction. Each succeeds or fails separately.
pub(crate) async fn reject_all(
    server: &Control,
    who: &Identity,
    ids: &[&ProposalId],
    rejection: RejectRequest<'_>,
) -> Result<Vec<DecisionResult>, StoreError> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let mut proposals: BTreeMap<ProposalId, Proposal> = writing
        .proposals_by_id(&who.account_id, ids)
        .await?
        .into_iter()
        .map(|proposal| (proposal.id.clone(), proposal))
        .collect();
    let reason = rejection.reason.map(CloseReason::own_words);
    let (mut decided, mut moves) = (Vec::with_capacity(ids.len()), Vec::with_capacity(ids.len()));
    for id in ids {
        let Some(proposal) = proposals.get_mut(*id) else {
            decided.push(Err(DecisionError::NotFound));
            continue;
        };
        if !Status::Rejected.may_follow(proposal.status) {
            let error = DecisionError::Closed(proposal.status);
            record_refusal(&mut writing, who, proposal, ACTION, &error, now);
            decided.push(Err(error));
            continue;
        }
        let moved = ProposalMove {
            from: proposal.status,
            to: Status::Rejected,
            reason: reason.as_ref(),
            decided_by: Some(&who.email),
            until_change: rejection.until_change,
            at: now,
        };
        moves.push((*id, moved));
        record_rejection(&mut writing, who, proposal, rejection, now);
        proposal.status = Status::Rejected;
        decided.push(Ok(()));
    }
    writing.proposals_move(&moves).await?;
    let rejected: Vec<&ProposalId> = moves.iter().map(|(id, _)| *id).collect();
    update_runs::update_runs(&mut writing, &rejected, None, now).await?;
    server.commit(writing).await?;
    // One of these may have blocked another repository's proposal, and the cap has room for the next changes of the plan.
    server.nudges().apply.notify_one();
    Ok(decided)
}

fn record_rejection(
    writing: &mut AccountWriting,
    who: &Identity,
    proposal: &Proposal,
    rejection: RejectRequest<'_>,
    now: Timestamp,
) {
    let RejectRequest { reason, until_change } = rejection;
    let run_id = proposal.run_id.as_ref();
    writing.event(record::proposal_event(proposal, run_id, Status::Rejected, &who.email, reason, now));
    let detail = json!({"digest": proposal.content_digest(), "reason": reason, "until_change": until_change,
        "resource": proposal.change.key.to_string()});
    writing.audit(record::audit_entry(&who.actor(), ACTION, ("proposal", proposal.id.as_str()), detail, now));
}
