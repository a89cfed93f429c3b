//! Withdrawing proposals that nobody can want any more.

use windlass_core::proposal::{CloseReason, Status};
use windlass_core::repository::Repository;
use windlass_store::{AccountWriting, ProposalFilter, ProposalSource};

use crate::caller::Identity;
use crate::clock::now;
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::gate::set_approvals::lapse_all;
use crate::refusal::Refusal;

/// Ends every open proposal of a repository of the transaction's account, and what was approved ahead of its plan.
pub(crate) async fn withdraw_all(
    writing: &mut AccountWriting,
    who: &Identity,
    repository: &Repository,
    reason: &CloseReason,
) -> Result<(), Refusal> {
    let filter = ProposalFilter {
        source: Some(ProposalSource::Repository(repository.id.clone())),
        ..ProposalFilter::default()
    };
    withdraw_open(writing, who, filter, reason).await?;
    lapse_all(writing, repository, &reason.to_string(), &who.actor(), now()).await?;
    Ok(())
}

/// Ends every direct change that waits of what a repository owns which leaves the transaction's account: the rules that
/// it was to pass are about nothing then.
pub(crate) async fn withdraw_direct(
    writing: &mut AccountWriting,
    who: &Identity,
    repository: &Repository,
    reason: &CloseReason,
) -> Result<(), Refusal> {
    let filter = ProposalFilter { owner_id: Some(repository.id.clone()), ..ProposalFilter::default() };
    withdraw_open(writing, who, filter, reason).await
}

async fn withdraw_open(
    writing: &mut AccountWriting,
    who: &Identity,
    filter: ProposalFilter,
    reason: &CloseReason,
) -> Result<(), Refusal> {
    let filter = ProposalFilter { statuses: vec![Status::PendingApproval, Status::Approved], ..filter };
    let account_id = writing.account_id().clone();
    let open = writing.proposals(&account_id, &filter, None, i32::MAX as usize).await?;
    let endings: Vec<ProposalClosing<'_>> = open
        .iter()
        .map(|proposal| ProposalClosing {
            by: &who.email,
            ..ProposalClosing::new(proposal, Status::Withdrawn, Some(reason))
        })
        .collect();
    close_proposals(writing, &endings, None, now()).await?;
    Ok(())
}
