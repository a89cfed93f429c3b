//! Tells forges how commits and pull requests stand. Load → decide → save, then send what was saved.

use std::time::Duration;

use tokio::sync::Notify;
use windlass_store::StoreError;

use crate::control::Control;
use crate::outside::forge::outbox::say_statuses;
use crate::outside::forge::send::{REPORTING, send_due};
use crate::pace::workers::Workers;
use crate::pace::{Pause, pause};

/// Writes come in bursts; a forge needs to hear only of the last.
const SETTLES_WITHIN: Duration = Duration::from_millis(250);

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let never = Notify::new();
    let mut workers = Workers::new(REPORTING);
    // What is under way when the server stops is sent again after the next start.
    while !server.is_stopping() {
        let pause_for = match turn(&server, &mut workers).await {
            Ok(()) => {
                server.clear_trouble("forge");
                server.config().rhythm.schedule
            }
            Err(error) => server.report_trouble("forge", &error),
        };
        let nudge = &server.nudges().forge;
        if pause(&server, nudge, pause_for).await == Pause::Stopping
            || pause(&server, &never, SETTLES_WITHIN).await == Pause::Stopping
        {
            break;
        }
    }
}

async fn turn(server: &Control, workers: &mut Workers) -> Result<(), StoreError> {
    say_statuses(server).await?;
    send_due(server, workers).await
}
