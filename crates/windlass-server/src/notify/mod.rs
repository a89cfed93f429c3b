//! Notifications: events are looked at once, what alerts tell of them is written down, and what is written down is sent
//! until it arrives or is given up.
//!
//! What is to be sent is stored with how far events were looked at, so that nothing is lost; it is stored as sent after
//! it was, so that a server that dies in between sends it again, under the same id. Only the holder of a lease does any
//! of it.

mod alerts;
mod attempt;
mod intake;
mod link;

use std::time::Duration;

use windlass_core::time::Timestamp;
use windlass_store::{Lease, StoreError};

pub(crate) use attempt::try_now;

use crate::clock::now;
use crate::loops::every;
use crate::server::Server;

/// What only one server at a time does.
const LEASE: &str = "notifications";

/// Longer than sending a batch takes when every receiver is slow.
const LEASE_FOR: Duration = Duration::from_secs(180);

/// Works until the server stops.
pub(crate) async fn run_loop(server: Server) {
    let rhythm = server.config().rhythm.notifications;
    every(&server, "notifications", &server.nudges().notifications, rhythm, turn).await;
}

async fn turn(server: &Server) -> Result<(), StoreError> {
    let now = now();
    // Most turns find nothing to do, and then nothing is written: not even a lease.
    let behind = intake::accounts_to_look_at(server).await?;
    if behind.is_empty() && !attempt::is_work(server, now).await? {
        return Ok(());
    }
    let Some(lease) = server.store().lease_take(LEASE, server.holder(), now, LEASE_FOR).await? else {
        return Ok(());
    };
    let done = work(server, &lease, behind, now).await;
    server.store().lease_release(&lease).await?;
    done
}

async fn work(
    server: &Server,
    lease: &Lease,
    behind: Vec<windlass_store::Behind>,
    now: Timestamp,
) -> Result<(), StoreError> {
    for account in behind {
        intake::look(server, lease, &account, now).await?;
    }
    intake::tell_suppressed(server, lease, now).await?;
    attempt::send_due(server, lease, LEASE_FOR).await
}
