//! Other replicas on the same database: hears of what they wrote, says that this one lives, and takes over what a dead one
//! held. With an embedded database there are none.

use std::time::Duration;

use windlass_store::StoreError;

use crate::control::Control;
use crate::pace::{WaitResult, run_periodically, wait_for_nudge};

/// How often this replica says that it lives.
const BEAT: Duration = Duration::from_secs(1);

/// A replica that was silent for so long is dead, or as good as that: it may neither save nor renew what it holds.
const LOST_AFTER: Duration = Duration::from_secs(4);

/// What the others write within such a time is one reason to look.
const AT_ONCE: Duration = Duration::from_millis(20);

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    if !server.store().is_shared() {
        return;
    }
    let beating = run_periodically(&server, "replicas", &server.nudges().replicas, BEAT, beat);
    tokio::join!(beating, listening(&server));
    // One that does not get this far is found silent by the others.
    let _ = server.store().leave().await;
}

async fn beat(server: &Control) -> Result<(), StoreError> {
    if server.store().beat(LOST_AFTER).await? > 0 {
        tracing::warn!("another replica stopped; the remaining replicas take over its work");
        server.wake_all();
    }
    Ok(())
}

/// Listens until the server stops, again and again if the connection is lost.
async fn listening(server: &Control) {
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
        tokio::select! {
            heard = listener.heard() => heard?,
            _ = stopping.wait_for(|is_stopping| *is_stopping) => return Ok(()),
        }
        server.heard_of_writes();
        tokio::time::sleep(AT_ONCE).await;
    }
}
