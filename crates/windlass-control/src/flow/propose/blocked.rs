//! Stores with proposals what blocks them, so that people see it.

use windlass_core::conflict::Candidate;
use windlass_core::diff::Change;
use windlass_core::id::{AccountId, ProposalId};
use windlass_core::proposal::{BlockedBy, Proposal};
use windlass_store::{AccountWriting, Reading, StoreError};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::load::load_account_state;
use crate::control::Control;

/// Updates what blocks a proposal, after someone changed what it would apply.
pub(crate) async fn update_blockers(writing: &mut AccountWriting, id: &ProposalId) -> Result<(), StoreError> {
    let account_id = writing.account_id().clone();
    let Some(proposal) = writing.proposal(&account_id, id).await? else { return Ok(()) };
    let change = proposal.effective_change();
    let candidate = proposal.candidate(&change);
    let world = load_account_state(writing, &account_id, &[candidate], DeclarationSource::Stored).await?;
    let reasons = world.blockers(candidate);
    writing.proposals_set_blockers(&[(proposal.id.clone(), reasons)]).await
}

/// Updates what blocks undecided proposals that were blocked. Writes only if something changed.
pub(crate) async fn refresh_blocked(server: &Control, account_id: &AccountId) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let has_changed = !changed_blocks(&mut reading, account_id).await?.is_empty();
    drop(reading);
    if !has_changed {
        return Ok(());
    }
    let mut writing = server.store().write_account(account_id).await?;
    let changed = changed_blocks(&mut writing, account_id).await?;
    writing.proposals_set_blockers(&changed).await?;
    server.commit(writing).await
}

/// Undecided proposals whose stored reasons are out of date. The apply loop updates approved proposals.
async fn changed_blocks(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<Vec<(ProposalId, Vec<BlockedBy>)>, StoreError> {
    let waiting = reading.proposals_blocked(account_id).await?;
    let changes: Vec<Change> = waiting.iter().map(Proposal::effective_change).collect();
    let candidates: Vec<Candidate<'_>> =
        waiting.iter().zip(&changes).map(|(proposal, change)| proposal.candidate(change)).collect();
    let world = load_account_state(reading, account_id, &candidates, DeclarationSource::Stored).await?;
    let now_blocked = waiting.iter().zip(&candidates).filter_map(|(proposal, candidate)| {
        let reasons = world.blockers(*candidate);
        (reasons != proposal.blocked_by).then_some((proposal.id.clone(), reasons))
    });
    Ok(now_blocked.collect())
}
