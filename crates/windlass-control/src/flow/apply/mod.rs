//! The apply loop: what was approved becomes the accepted state, in the order of its plan.
//!
//! Follows the order of the last plan and decides nothing anew: each change is made only from exactly the state it was
//! approved against, when what it refers to is there. Many changes share a commit; should one of them fail, each is
//! tried alone, and only that one is undone. What cannot be done yet keeps the reason beside its state. As changes are
//! done, the next of their plan are opened, and applied in the same turn if they are approved.

pub mod batch;
pub mod load_context;

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

/// Resources of one commit: enough to make one disk flush cheap for each, few enough to let others write in between.
const BATCH_SIZE: usize = 500;

/// Longer than a group takes.
const LEASE: Duration = Duration::from_secs(30);

/// Batches of one account that are opened and applied before it is the next account's turn.
const BATCHES_PER_ACCOUNT: usize = 20;

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().intervals.apply;
    run_periodically(&server, "apply", &server.nudges().apply, interval, apply_all_accounts).await;
}

/// Applies what can be applied in every account, each in turn until none has more.
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

/// Applies what can be applied in one account, and opens what comes next.
pub async fn apply_account(server: &Control, account_id: &AccountId) -> Result<OpenNextResult, StoreError> {
    // The lease saves another replica the work. What keeps it safe is that an account's writes queue up, and that each
    // step checks the state it starts from.
    let name = format!("apply:{account_id}");
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(OpenNextResult::Nothing);
    };
    let applied = apply_batches(server, account_id, &lease).await;
    server.store().lease_release(&lease).await?;
    applied
}

/// Applies and opens in turn, some batches of it.
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

/// Goes through what is approved until nothing more can be applied. Says whether anything was.
async fn apply_all(server: &Control, account_id: &AccountId, lease: &Lease) -> Result<bool, StoreError> {
    let mut has_applied = false;
    // What one change waits for may be made by a later one: of another repository, say.
    while let ApplyPass { has_changed: true, has_waiting } = apply_once(server, account_id, lease).await? {
        has_applied = true;
        if !has_waiting {
            break;
        }
    }
    Ok(has_applied)
}

/// What going once through everything approved came to.
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
