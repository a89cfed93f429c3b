//! Refusal.

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

/// Why, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct RejectRequest<'r> {
    /// Why, if someone said so.
    pub reason: Option<&'r str>,
    /// Whether it holds until the change itself changes.
    pub until_change: bool,
}

/// Refuses a proposal.
pub async fn reject(
    server: &Control,
    who: &Identity,
    id: &ProposalId,
    rejection: RejectRequest<'_>,
) -> DecisionResult {
    single_result(reject_all(server, who, &[id], rejection).await?)
}

/// Refuses proposals, each by itself, in one transaction.
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
        tell_rejection(&mut writing, who, proposal, rejection, now);
        proposal.status = Status::Rejected;
        decided.push(Ok(()));
    }
    writing.proposals_move(&moves).await?;
    let rejected: Vec<&ProposalId> = moves.iter().map(|(id, _)| *id).collect();
    update_runs::update_runs(&mut writing, &rejected, None, now).await?;
    server.commit(writing).await?;
    // Another repository's proposal may have waited for one of these to go, and there is room for the next changes of the
    // plan.
    server.nudges().apply.notify_one();
    Ok(decided)
}

fn tell_rejection(
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
