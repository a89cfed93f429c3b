//! The apply loop: what was approved becomes live, in the order of its plan.
//!
//! Follows the order of the last plan and decides nothing anew: each change is made only from exactly the state it was
//! approved against, when what it refers to is there. Each resource is a transaction within a group that is committed
//! together; a failure undoes that resource alone. What cannot be done yet keeps the reason beside its state.

mod choose;
mod make;
mod settle;

use std::time::Duration;

use windlass_store::{Lease, StoreError};

pub(crate) use settle::settle_runs_of;

use crate::clock::now;
use crate::crash::crash_point;
use crate::loops::{Pause, pause};
use crate::server::Server;

/// Resources of one commit: enough to make one disk flush cheap for each, few enough to let others write in between.
const GROUP: usize = 100;

/// Longer than a group takes.
const LEASE: Duration = Duration::from_secs(30);

/// Works until the server stops.
pub(crate) async fn run_loop(server: Server) {
    while !server.is_stopping() {
        let pause_for = match turn(&server).await {
            Ok(()) => {
                server.clear_trouble("apply");
                server.config().rhythm.apply
            }
            Err(error) => server.report_trouble("apply", &error),
        };
        if pause(&server, &server.nudges().apply, pause_for).await == Pause::Stopping {
            break;
        }
    }
}

/// Applies what can be applied in every account.
async fn turn(server: &Server) -> Result<(), StoreError> {
    let accounts = server.store().read().await?.accounts_to_apply().await?;
    for account in accounts {
        apply_account(server, &account).await?;
    }
    Ok(())
}

/// Applies what can be applied in one account.
async fn apply_account(server: &Server, account_id: &str) -> Result<(), StoreError> {
    // The lease saves another replica the work. What keeps it safe is that an account's writes queue up, and that each
    // step checks the state it starts from.
    let name = format!("apply:{account_id}");
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(());
    };
    let applied = apply_groups(server, account_id, &lease).await;
    server.store().lease_release(&lease).await?;
    applied
}

/// Applies group after group until nothing more can be applied.
async fn apply_groups(server: &Server, account_id: &str, lease: &Lease) -> Result<(), StoreError> {
    let mut has_applied = false;
    while !server.is_stopping() {
        if !server.store().lease_renew(lease, now(), LEASE).await? {
            break;
        }
        let chosen = choose::choose(server, account_id, GROUP, now()).await?;
        crash_point("apply.chosen");
        if chosen.is_empty() {
            break;
        }
        crash_point("apply.marked");
        make::make(server, account_id, &chosen).await?;
        crash_point("apply.settled");
        has_applied = true;
    }
    if has_applied {
        server.nudges().drift.notify_one();
    }
    settle::refresh_blocked(server, account_id).await
}
