//! Evaluates open proposals again after a policy, a repository's settings or the approvers changed: some may now be
//! approved automatically, others may no longer have the approvals that they need.

use windlass_core::apply::governing_repository;
use windlass_core::gate::Consent;
use windlass_core::id::ProposalId;
use windlass_core::proposal::{CloseReason, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, ProposalFilter, StoreError};

use crate::flow::gate::auto_approve::{approve_granted, granted_consent};
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::flow::gate::return_to_pending::return_to_pending;

/// Approves pending proposals that the gate grants now, and returns approved ones to pending if they need more
/// approvals. An approved proposal that the gate refuses stays approved and is held when it is about to be applied.
pub async fn re_evaluate_open_proposals(
    writing: &mut AccountWriting,
    now: Timestamp,
) -> Result<(), StoreError> {
    let account_id = writing.account_id().clone();
    let Some(account) = writing.account(account_id.as_str()).await? else { return Ok(()) };
    let repositories = writing.repositories(&account_id).await?;
    let statuses = vec![Status::PendingApproval, Status::Approved];
    let filter = ProposalFilter { statuses, ..ProposalFilter::default() };
    let open = writing.proposals(&account_id, &filter, None, i32::MAX as usize).await?;
    let changed = open.iter().map(|proposal| &proposal.change.key);
    let gatekeeper = load_gatekeeper(writing, &account, changed, now).await?;
    let ids: Vec<&ProposalId> = open.iter().map(|proposal| &proposal.id).collect();
    let approvals = writing.approvals_of(&ids).await?;
    let (mut grants, mut returned) = (Vec::new(), Vec::new());
    for proposal in &open {
        let repository = governing_repository(proposal, &repositories);
        let given = approvals.get(&proposal.id).map(Vec::as_slice).unwrap_or_default();
        let judgement = gatekeeper.judge(proposal, repository, given, now);
        match (proposal.status, granted_consent(&judgement), judgement.consent) {
            (Status::PendingApproval, Some(grant), _) => grants.push((proposal, grant)),
            (Status::Approved, None, Consent::Needed { reasons, .. }) => {
                returned.push((proposal, CloseReason::ApprovalsMissing { reasons }));
            }
            _ => {}
        }
    }
    approve_granted(writing, &grants, None, now).await?;
    return_to_pending(writing, &returned, now).await
}
