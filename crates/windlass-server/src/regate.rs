//! Asking the gate again about what waits for approval: a policy or a repository's setting changed, and something may
//! pass by itself now.

use serde_json::json;
use windlass_core::proposal::Status;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, Moved, NewEvent, ProposalFilter, StoreError};

use crate::gatekeeper::Gatekeeper;
use crate::offer::granted;
use crate::tell;

/// Lets through what the gate lets through now. What it asks more for is taken back when it is about to be applied.
pub(crate) async fn regate(writing: &mut AccountWriting, now: Timestamp) -> Result<(), StoreError> {
    let account_id = writing.account_id().to_owned();
    let Some(account) = writing.account(&account_id).await? else { return Ok(()) };
    let gatekeeper = Gatekeeper::of(&account);
    let repositories = writing.repositories(&account_id).await?;
    let filter = ProposalFilter { statuses: vec![Status::PendingApproval], ..ProposalFilter::default() };
    for proposal in writing.proposals(&account_id, &filter, None, i32::MAX as usize).await? {
        let repository = repositories.iter().find(|repository| repository.id == proposal.repository_id);
        let approvals = writing.approvals(&proposal.id).await?;
        let Some(grant) = granted(&gatekeeper.judge(&proposal, repository, &approvals, now)) else {
            continue;
        };
        let moved = Moved {
            from: Status::PendingApproval,
            to: Status::Approved,
            reason: None,
            decided_by: Some(&grant.by),
            until_change: false,
            at: now,
        };
        if writing.proposal_move(&proposal.id, &moved).await? {
            let event =
                tell::proposal_event(&proposal, &proposal.run_id, Status::Approved, &grant.by, None, now);
            writing.event(NewEvent { severity: grant.severity, ..event });
            let detail = json!({"by": grant.by, "digest": proposal.content_digest(),
                "resource": proposal.change.key.to_string()});
            let target = ("proposal", proposal.id.as_str());
            writing.audit(tell::entry(&Actor::windlass(), "proposal.approve", target, detail, now));
        }
    }
    Ok(())
}
