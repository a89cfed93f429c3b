//! What all loops share: waiting for a nudge, an interval or the server's stop.

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

/// Waits for a nudge, for `length`, or for the server to stop.
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

/// Runs turns until the server stops: after a nudge, after the interval, or soon after the database failed. `part` names the
/// loop in problems and metrics. Running a turn twice must have the same effect as running it once.
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
        if pace.wait_for_next_turn(server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
}

/// How a loop waits between its turns.
pub(crate) struct LoopPace<'p> {
    /// The name of the loop in problems and metrics.
    pub(crate) part: &'static str,
    /// What ends a wait early.
    pub(crate) nudge: &'p Notify,
    /// How long a wait lasts otherwise.
    pub(crate) interval: Duration,
}

impl LoopPace<'_> {
    /// Records the outcome of a turn and waits until the next.
    pub(crate) async fn wait_for_next_turn(
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
