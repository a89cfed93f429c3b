//! What all loops share: waiting for a nudge, a time or the end.

pub mod workers;

use std::time::{Duration, Instant};

use tokio::sync::Notify;
use windlass_store::StoreError;

use crate::clock::now;
use crate::control::Control;
use crate::metrics::{self, MetricOutcome};

/// Why waiting ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaitResult {
    /// There may be something to do.
    Over,
    /// The server stops.
    Stopping,
}

/// Waits for a nudge, or for so long, or for the server to stop.
pub(crate) async fn wait_for_nudge(server: &Control, nudge: &Notify, length: Duration) -> WaitResult {
    let mut stopping = server.watch_stopping();
    if *stopping.borrow_and_update() {
        return WaitResult::Stopping;
    }
    tokio::select! {
        () = nudge.notified() => WaitResult::Over,
        () = tokio::time::sleep(length) => WaitResult::Over,
        _ = stopping.changed() => WaitResult::Stopping,
    }
}

/// Takes turns until the server stops: after a nudge, or when it is time again, or soon after the database failed.
/// `part` is what is in trouble when a turn fails. Running a turn twice must change nothing.
pub(crate) async fn run_periodically(
    server: &Control,
    part: &'static str,
    nudge: &Notify,
    interval: Duration,
    mut turn: impl AsyncFnMut(&Control) -> Result<(), StoreError>,
) {
    let pace = LoopPace { part, nudge, interval };
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(server).await;
        if pace.rest(server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
}

/// How a loop rests between its turns.
pub(crate) struct LoopPace<'p> {
    /// What is in trouble when a turn fails.
    pub(crate) part: &'static str,
    /// What ends a rest early.
    pub(crate) nudge: &'p Notify,
    /// How long it lasts otherwise.
    pub(crate) interval: Duration,
}

impl LoopPace<'_> {
    /// Notes what came of a turn, and rests until the next.
    pub(crate) async fn rest(
        &self,
        server: &Control,
        begun: Instant,
        turned: Result<(), StoreError>,
    ) -> WaitResult {
        metrics::loop_turn(self.part, MetricOutcome::of(&turned), begun.elapsed(), now().as_millis() / 1000);
        let pause_for = match turned {
            Ok(()) => {
                server.clear_problem(self.part);
                self.interval
            }
            Err(error) => server.report_problem(self.part, &error),
        };
        wait_for_nudge(server, self.nudge, pause_for).await
    }
}
