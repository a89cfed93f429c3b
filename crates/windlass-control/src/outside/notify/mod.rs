//! Notifications: events are looked at once, what alerts tell of them is written down, and what is written down is sent
//! until it arrives or is given up.
//!
//! What is to be sent is stored with how far events were looked at, so that nothing is lost; it is stored as sent after
//! it was, so that a server that dies in between sends it again, under the same id. Only the holder of a lease does any
//! of it.

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

/// What only one server at a time does.
const LEASE: &str = "notifications";

/// Longer than sending one takes when its receiver is slow.
const LEASE_FOR: Duration = Duration::from_secs(180);

/// How often it is renewed, and looked for what became due, at least.
const LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(5);

/// Sent at the same time: receivers are slow, and none should keep the others waiting.
const SEND_SLOTS: WorkerSlots = WorkerSlots { all: 16, reserved: 4, per_account: 4, unproven: 2 };

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().intervals.notifications;
    run_periodically(&server, "notifications", &server.nudges().notifications, interval, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let now = now();
    // Most turns find nothing to do, and then nothing is written: not even a lease.
    let behind = collect::accounts_to_look_at(server).await?;
    if behind.is_empty() && !attempt::is_work(server, now).await? {
        return Ok(());
    }
    let Some(lease) = server.store().lease_take(LEASE, server.holder(), now, LEASE_FOR).await? else {
        return Ok(());
    };
    let done = work(server, &lease).await;
    server.store().lease_release(&lease).await?;
    done
}

/// Looks at events and sends what is due until there is nothing more to do. What is slow to arrive keeps neither the
/// events nor the deliveries of other accounts waiting.
async fn work(server: &Control, lease: &Lease) -> Result<(), StoreError> {
    let mut workers = Workers::new(SEND_SLOTS);
    let ended = Arc::new(Notify::new());
    loop {
        let now = now();
        for account in collect::accounts_to_look_at(server).await? {
            collect::collect_deliveries(server, lease, &account, now).await?;
        }
        collect::queue_digests(server, lease, now).await?;
        let is_work = attempt::begin_due(server, lease, &mut workers, &ended).await?;
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
