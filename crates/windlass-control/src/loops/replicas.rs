//! Other replicas on the same database: receives notifications of their writes, sends this replica's heartbeat, and takes over
//! the leases of a lost one. With an embedded database there are none.

use std::time::Duration;

use windlass_store::{RemoteNews, StoreError};

use crate::control::Control;
use crate::pace::{WaitResult, run_periodically, wait_for_nudge};

/// How often this replica sends its heartbeat.
const HEARTBEAT_INTERVAL: Duration = Duration::from_secs(1);

/// A replica without a heartbeat for this long is lost, even if it still runs: it can neither save under its leases nor renew
/// them.
const LOST_AFTER: Duration = Duration::from_secs(4);

/// All writes of other replicas within this time cause one check.
const DEBOUNCE: Duration = Duration::from_millis(20);

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    if !server.store().is_shared() {
        return;
    }
    let heartbeats =
        run_periodically(&server, "replicas", &server.nudges().replicas, HEARTBEAT_INTERVAL, heartbeat);
    tokio::join!(heartbeats, keep_listening(&server));
    // If a replica does not get this far, the others notice the missing heartbeat.
    let _ = server.store().deregister_replica().await;
}

async fn heartbeat(server: &Control) -> Result<(), StoreError> {
    if server.store().heartbeat(LOST_AFTER).await? > 0 {
        tracing::warn!("another replica stopped; the remaining replicas take over its work");
        server.wake_all();
    }
    Ok(())
}

/// Listens until the server stops; reconnects if the connection is lost.
async fn keep_listening(server: &Control) {
    while !server.is_stopping() {
        let wait = match listen(server).await {
            Ok(()) => Duration::ZERO,
            Err(error) => server.report_problem("replicas", &error),
        };
        if wait_for_nudge(server, &server.nudges().replicas, wait).await == WaitResult::Stopping {
            break;
        }
    }
}

async fn listen(server: &Control) -> Result<(), StoreError> {
    let Some(mut listener) = server.store().listen().await? else { return Ok(()) };
    let mut stopping = server.watch_stopping();
    loop {
        let news = tokio::select! {
            news = listener.wait_for_news() => news?,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => return Ok(()),
        };
        match news {
            RemoteNews::Write => server.wake_after_remote_write(),
            // Only the streams have to look; a pause would delay what agents wait for.
            RemoteNews::Agents => {
                server.hub().wake();
                continue;
            }
        }
        tokio::time::sleep(DEBOUNCE).await;
    }
}
