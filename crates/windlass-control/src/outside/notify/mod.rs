//! Notifications: Windlass processes each event once, stores a delivery for each matching alert and provider, and sends the
//! delivery until it arrives or is abandoned.
//!
//! Deliveries are stored in the same transaction as the number of the last processed event, so that none is lost. A delivery
//! is stored as sent after it was sent, so that a server that crashes in between sends it again, with the same id. Only the
//! holder of a lease does this work.

pub mod alerts;
pub mod attempt;
pub mod collect;
pub mod link;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use windlass_core::fairness::WorkerSlots;
use windlass_store::{Lease, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::pace::run_periodically;
use crate::pace::workers::Workers;

/// The name of the lease: only one server at a time sends notifications.
const LEASE: &str = "notifications";

/// Longer than sending one notification to a slow receiver takes.
const LEASE_FOR: Duration = Duration::from_secs(180);

/// The longest time between two renewals of the lease and checks for due deliveries.
const LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(5);

/// How many notifications are sent at the same time: receivers are slow, and none should delay the others.
const SEND_SLOTS: WorkerSlots = WorkerSlots { all: 16, reserved: 4, per_account: 4, unproven: 2 };

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().intervals.notifications;
    run_periodically(&server, "notifications", &server.nudges().notifications, interval, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let now = now();
    // Most turns find nothing to do and then write nothing, not even a lease.
    let backlog = collect::accounts_to_check(server).await?;
    if backlog.is_empty() && !attempt::has_work(server, now).await? {
        return Ok(());
    }
    let Some(lease) = server.store().lease_take(LEASE, server.holder(), now, LEASE_FOR).await? else {
        return Ok(());
    };
    let done = work(server, &lease).await;
    server.store().lease_release(&lease).await?;
    done
}

/// Processes events and sends due deliveries until there is nothing more to do. A slow delivery delays neither the events nor
/// the deliveries of other accounts.
async fn work(server: &Control, lease: &Lease) -> Result<(), StoreError> {
    let mut workers = Workers::new(SEND_SLOTS);
    let ended = Arc::new(Notify::new());
    loop {
        let now = now();
        for account in collect::accounts_to_check(server).await? {
            collect::collect_deliveries(server, lease, &account, now).await?;
        }
        collect::queue_digests(server, lease, now).await?;
        let is_work = attempt::start_due_deliveries(server, lease, &mut workers, &ended).await?;
        if server.is_stopping() || !(is_work || workers.is_busy()) {
            workers.finish().await;
            return Ok(());
        }
        tokio::select! {
            () = ended.notified() => {}
            () = server.nudges().notifications.notified() => {}
            () = tokio::time::sleep(LEASE_RENEW_INTERVAL) => {}
        }
        if !server.store().lease_renew(lease, now, LEASE_FOR).await? {
            return Ok(());
        }
    }
}
