//! Loads the context in which Windlass decides whether approved proposals can be applied.

use windlass_core::account::Account;
use windlass_core::apply::ApplyContext;
use windlass_core::conflict::Candidate;
use windlass_core::diff::Change;
use windlass_core::id::ProposalId;
use windlass_core::proposal::Proposal;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, StoreError};

use crate::account_state::declaration_source::DeclarationSource;
use crate::account_state::load::load_account_state;
use crate::flow::gate::gatekeeper::load_gatekeeper;

/// Loads the account's state around the changes of these proposals, and the current facts for the gate.
pub(crate) async fn load_apply_context(
    writing: &mut AccountWriting,
    account: &Account,
    group: &[Proposal],
    now: Timestamp,
) -> Result<ApplyContext, StoreError> {
    let changes: Vec<Change> = group.iter().map(Proposal::effective_change).collect();
    let candidates: Vec<Candidate<'_>> =
        group.iter().zip(&changes).map(|(proposal, change)| proposal.candidate(change)).collect();
    let ids: Vec<&ProposalId> = group.iter().map(|proposal| &proposal.id).collect();
    let changed = changes.iter().map(|change| &change.key);
    Ok(ApplyContext {
        world: load_account_state(writing, &account.id, &candidates, DeclarationSource::Stored).await?,
        gatekeeper: load_gatekeeper(writing, account, changed, now).await?,
        repositories: writing.repositories(&account.id).await?,
        approvals: writing.approvals_of(&ids).await?,
        now,
    })
}
