//! The apply loop: makes approved changes the accepted state, in the order of their plan.
//!
//! The loop follows the order of the last plan and makes no new plan. It applies a change only to exactly the state
//! that the change was approved against, and only when the resources that it refers to exist. Many changes share a
//! transaction; if one of them cannot be stored, each is applied alone, and only that one fails. A blocked change
//! stores the reasons. As changes are applied, the loop opens the next changes of their plan, and applies them in the
//! same iteration if they are approved.

pub mod batch;
pub mod load_context;
pub mod module_versions;

use std::time::Duration;

use windlass_core::id::AccountId;
use windlass_core::proposal::ApplyOrder;
use windlass_store::{Lease, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::flow::apply::batch::ApplyBatchResult;
use crate::flow::propose::blocked;
use crate::flow::propose::open_next::{OpenNextResult, open_next};
use crate::pace::run_periodically;

/// Changes in one transaction: enough that the disk flush costs each of them little, few enough that others can write
/// in between.
const BATCH_SIZE: usize = 500;

/// Longer than a batch takes.
const LEASE: Duration = Duration::from_secs(30);

/// Batches of one account that are opened and applied before it is the next account's turn.
const BATCHES_PER_ACCOUNT: usize = 20;

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().intervals.apply;
    run_periodically(&server, "apply", &server.nudges().apply, interval, apply_all_accounts).await;
}

/// Applies what can be applied in every account, one after the other, until none has more.
async fn apply_all_accounts(server: &Control) -> Result<(), StoreError> {
    server.apply_turns().send_modify(|turns| turns.begun += 1);
    let mut accounts = server.store().read().await?.accounts_to_apply().await?;
    while !accounts.is_empty() && !server.is_stopping() {
        let mut unfinished = Vec::new();
        for account in accounts {
            if apply_account(server, &account).await? == OpenNextResult::Ready {
                unfinished.push(account);
            }
        }
        accounts = unfinished;
    }
    server.apply_turns().send_modify(|turns| turns.ended = turns.begun);
    Ok(())
}

/// Applies what can be applied in one account, and opens the next changes.
pub async fn apply_account(server: &Control, account_id: &AccountId) -> Result<OpenNextResult, StoreError> {
    // The lease only avoids duplicate work by another replica. It is not needed for safety: the writes of an account
    // run one at a time, and each step checks the state that it starts from.
    let name = format!("apply:{account_id}");
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(OpenNextResult::Nothing);
    };
    let applied = apply_batches(server, account_id, &lease).await;
    server.store().lease_release(&lease).await?;
    applied
}

/// Applies and opens changes alternately, at most [`BATCHES_PER_ACCOUNT`] times.
async fn apply_batches(
    server: &Control,
    account_id: &AccountId,
    lease: &Lease,
) -> Result<OpenNextResult, StoreError> {
    let mut next = OpenNextResult::Ready;
    let mut has_applied = false;
    for _ in 0..BATCHES_PER_ACCOUNT {
        has_applied |= apply_all(server, account_id, lease).await?;
        next = open_next(server, account_id).await?;
        if next == OpenNextResult::Nothing || server.is_stopping() {
            break;
        }
    }
    crash_point("apply.settled");
    if next == OpenNextResult::Nothing {
        if has_applied {
            server.nudges().drift.notify_one();
        }
        blocked::refresh_blocked(server, account_id).await?;
    }
    Ok(next)
}

/// Applies approved changes until no more can be applied. Returns whether the state of any proposal changed.
async fn apply_all(server: &Control, account_id: &AccountId, lease: &Lease) -> Result<bool, StoreError> {
    let mut has_applied = false;
    // A later change, for example of another repository, may unblock an earlier one.
    while let ApplyPass { has_changed: true, has_waiting } = apply_once(server, account_id, lease).await? {
        has_applied = true;
        if !has_waiting {
            break;
        }
    }
    Ok(has_applied)
}

/// The result of one pass over all approved changes.
#[derive(Default)]
struct ApplyPass {
    has_changed: bool,
    has_waiting: bool,
}

async fn apply_once(
    server: &Control,
    account_id: &AccountId,
    lease: &Lease,
) -> Result<ApplyPass, StoreError> {
    let mut pass = ApplyPass::default();
    let mut after: Option<ApplyOrder> = None;
    while !server.is_stopping() && server.store().lease_renew(lease, now(), LEASE).await? {
        let group = batch::apply(server, account_id, after.as_ref(), BATCH_SIZE).await?;
        let ApplyBatchResult { last: Some(last), has_changed, has_waiting } = group else { break };
        pass.has_changed |= has_changed;
        pass.has_waiting |= has_waiting;
        after = Some(last);
    }
    Ok(pass)
}
