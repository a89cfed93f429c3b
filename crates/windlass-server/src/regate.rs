//! Asking the gate again about what waits for approval: a policy or a repository's setting changed, and something may
//! pass by itself now.

use windlass_core::proposal::Status;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, ProposalFilter, StoreError};

use crate::gatekeeper::{Gatekeeper, governing_repository};
use crate::grant::{granted, let_through};

/// Lets through what the gate lets through now. What it asks more for is taken back when it is about to be applied.
pub(crate) async fn regate(writing: &mut AccountWriting, now: Timestamp) -> Result<(), StoreError> {
    let account_id = writing.account_id().to_owned();
    let Some(account) = writing.account(&account_id).await? else { return Ok(()) };
    let gatekeeper = Gatekeeper::of(&account);
    let repositories = writing.repositories(&account_id).await?;
    let filter = ProposalFilter { statuses: vec![Status::PendingApproval], ..ProposalFilter::default() };
    let pending = writing.proposals(&account_id, &filter, None, i32::MAX as usize).await?;
    let ids: Vec<&str> = pending.iter().map(|proposal| proposal.id.as_str()).collect();
    let approvals = writing.approvals_of(&ids).await?;
    let grants: Vec<_> = pending
        .iter()
        .filter_map(|proposal| {
            let repository = governing_repository(proposal, &repositories);
            let given = approvals.get(&proposal.id).map(Vec::as_slice).unwrap_or_default();
            Some((proposal, granted(&gatekeeper.judge(proposal, repository, given, now))?))
        })
        .collect();
    let_through(writing, &grants, None, now).await
}
