//! Withdrawing proposals of repositories that changed their source, moved or were removed.

use windlass_core::proposal::{CloseReason, Status};
use windlass_core::repository::Repository;
use windlass_store::{AccountWriting, ProposalFilter, ProposalSource};

use crate::caller::Identity;
use crate::clock::now;
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::gate::set_approvals::lapse_all_set_approvals;
use crate::refusal::Refusal;

/// Withdraws every open proposal of a repository in the transaction's account, and lapses the approvals of its plan sets.
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
    lapse_all_set_approvals(writing, repository, &reason.to_string(), &who.actor(), now()).await?;
    Ok(())
}

/// Withdraws every open direct change of a repository's resources when the repository leaves the transaction's account: the
/// rules about that repository would no longer apply to them.
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
