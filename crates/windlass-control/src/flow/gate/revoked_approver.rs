//! Approvals lapse when the approver loses the permission to approve. They do not count again when the person gets it
//! back.

use windlass_core::id::AccountId;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, StoreError};

use crate::control::Control;
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::flow::gate::re_evaluate::re_evaluate_open_proposals;
use crate::flow::gate::set_approvals::SetApprovalLapse;

const LAPSE_REASON: &str = "they lost the permission to approve";

/// To be called after someone's role in the transaction's account, or their access, changed. If they may no longer
/// approve there, their approvals of changes that are not applied yet lapse, and proposals that needed them return to
/// pending.
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
            let lapse =
                SetApprovalLapse { set, repository: &repository, why: LAPSE_REASON, actor, run_id: None };
            lapse.save(writing, now).await?;
        }
    }
    let lapsed = writing.approvals_lapse(&account_id, email, LAPSE_REASON).await?;
    if !sets.is_empty() || lapsed > 0 {
        re_evaluate_open_proposals(writing, now).await?;
    }
    Ok(())
}

/// Calls [`lapse_approvals`] for further accounts, each in its own transaction. If the server crashes in between, the
/// approvals in the remaining accounts do not count either, because the person may not approve.
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
