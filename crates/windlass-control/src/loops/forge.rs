//! Reports the status of commits and pull requests to forges. Load → decide → save, then send what was saved.

use std::time::Duration;

use tokio::sync::Notify;
use windlass_store::StoreError;

use crate::control::Control;
use crate::outside::forge::outbox::report_statuses;
use crate::outside::forge::send::{REPORT_SLOTS, send_due};
use crate::pace::workers::Workers;
use crate::pace::{WaitResult, wait_for_nudge};

/// Writes come in bursts; a forge needs only the last status.
const DEBOUNCE: Duration = Duration::from_millis(250);

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let never = Notify::new();
    let mut workers = Workers::new(REPORT_SLOTS);
    // Reports that are being sent when the server stops are sent again after the next start.
    while !server.is_stopping() {
        let pause_for = match turn(&server, &mut workers).await {
            Ok(()) => {
                server.clear_problem("forge");
                server.config().intervals.schedule
            }
            Err(error) => server.report_problem("forge", &error),
        };
        let nudge = &server.nudges().forge;
        if wait_for_nudge(&server, nudge, pause_for).await == WaitResult::Stopping
            || wait_for_nudge(&server, &never, DEBOUNCE).await == WaitResult::Stopping
        {
            break;
        }
    }
}

async fn turn(server: &Control, workers: &mut Workers) -> Result<(), StoreError> {
    report_statuses(server).await?;
    send_due(server, workers).await
}
