//! Many decisions at once.

use std::collections::BTreeMap;

use windlass_api::types::{BatchBody, BatchDecision, BatchItem, BatchResult};
use windlass_core::id::{ProposalId, RunId};
use windlass_core::proposal::Status;

use crate::ask::proposal::approve::{self, ReviewedProposal};
use crate::ask::proposal::reject::{self, RejectRequest};
use crate::caller::Identity;
use crate::control::Control;
use crate::refusal::Refusal;

/// The most decisions in one request: as many as a fleet can have resources.
const MAX_BATCH: usize = 100_000;

/// Approves or rejects several proposals, each separately.
pub async fn decide_all(server: &Control, who: &Identity, body: &BatchBody) -> Result<BatchResult, Refusal> {
    let ids = match (&body.approval_request_id, body.ids.is_empty()) {
        (Some(run), true) => open_of_run(server, who, &RunId::new(run)).await?,
        (None, false) => body.ids.iter().map(ProposalId::new).collect(),
        _ => {
            let message = "give either ids or an approval_request_id";
            return Err(Refusal::bad_request(
                message,
                "a run's approval_request_id selects its open proposals",
            ));
        }
    };
    if ids.len() > MAX_BATCH {
        return Err(Refusal::bad_request(
            format!("a batch can have at most {MAX_BATCH} proposals"),
            "approve the run's whole plan, or send several batches",
        ));
    }
    let reason = body.reason.as_deref();
    let decided = match body.decision {
        BatchDecision::Approve => {
            let reviewed: Vec<ReviewedProposal<'_>> = ids
                .iter()
                .map(|id| ReviewedProposal { id, digest: body.digests.get(id.as_str()).map(String::as_str) })
                .collect();
            approve::approve_all(server, who, &reviewed, reason).await?
        }
        BatchDecision::Reject => {
            let rejection = RejectRequest { reason, until_change: body.until_change };
            let ids: Vec<&ProposalId> = ids.iter().collect();
            reject::reject_all(server, who, &ids, rejection).await?
        }
    };
    let statuses = statuses_of(server, who, &ids).await?;
    let results: Vec<BatchItem> = ids
        .into_iter()
        .zip(decided)
        .map(|(id, decided)| BatchItem {
            status: statuses.get(&id).copied(),
            error: decided.err().map(|error| Refusal::from(error).into_body()),
            id: id.to_string(),
        })
        .collect();
    let refused = results.iter().filter(|item| item.error.is_some()).count();
    Ok(BatchResult { done: results.len() - refused, refused, results })
}

async fn statuses_of(
    server: &Control,
    who: &Identity,
    ids: &[ProposalId],
) -> Result<BTreeMap<ProposalId, Status>, Refusal> {
    let ids: Vec<&ProposalId> = ids.iter().collect();
    let proposals = server.store().read().await?.proposals_by_id(&who.account_id, &ids).await?;
    Ok(proposals.into_iter().map(|proposal| (proposal.id, proposal.status)).collect())
}

async fn open_of_run(server: &Control, who: &Identity, run_id: &RunId) -> Result<Vec<ProposalId>, Refusal> {
    let mut reading = server.store().read().await?;
    reading.run(&who.account_id, run_id).await?.ok_or_else(Refusal::not_found)?;
    let proposals = reading.run_proposals(run_id).await?;
    Ok(proposals
        .into_iter()
        .filter(|proposal| proposal.status == Status::PendingApproval)
        .map(|proposal| proposal.id)
        .collect())
}
