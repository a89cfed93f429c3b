//! What someone approved falls when they lose the permission to approve: it does not count again when they get it back.

use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, StoreError};

use crate::control::Control;
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::flow::gate::re_evaluate::re_evaluate_open_proposals;
use crate::flow::gate::set_approvals::SetApprovalLapse;

const LAPSE_REASON: &str = "they lost the permission to approve";

/// After someone's role in the transaction's account, or their access, was changed: if they may not approve there any
/// more, nothing that they approved and that is not carried out yet counts, and whatever stood on it waits for approval
/// again.
pub async fn lapse_approvals(
    writing: &mut AccountWriting,
    email: &str,
    actor: &Actor,
    now: Timestamp,
) -> Result<(), StoreError> {
    let account_id = writing.account_id().clone();
    let Some(account) = writing.account(account_id.as_str()).await? else { return Ok(()) };
    if load_gatekeeper(writing, &account, [], now).await?.is_approver(email) {
        return Ok(());
    }
    let sets = writing.approval_sets_in_force_by(&account_id, email).await?;
    for set in &sets {
        if let Some(repository) = writing.repository(&account_id, set.repository_id.as_str()).await? {
            let fall =
                SetApprovalLapse { set, repository: &repository, why: LAPSE_REASON, actor, run_id: None };
            fall.save(writing, now).await?;
        }
    }
    let fallen = writing.approvals_lapse(&account_id, email, LAPSE_REASON).await?;
    if !sets.is_empty() || fallen > 0 {
        re_evaluate_open_proposals(writing, now).await?;
    }
    Ok(())
}

/// The same in other accounts than the one where it was decided, each in a transaction of its own. Should the server die in
/// between, what they approved does not count there either, because they may not approve.
pub(crate) async fn reconsider_approvals_in(
    server: &Control,
    accounts: &[AccountId],
    email: &str,
    actor: &Actor,
    now: Timestamp,
) -> Result<(), StoreError> {
    for account_id in accounts {
        let mut writing = server.store().write_account(account_id).await?;
        lapse_approvals(&mut writing, email, actor, now).await?;
        server.commit(writing).await?;
    }
    Ok(())
}
