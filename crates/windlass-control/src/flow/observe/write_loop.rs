//! The writer of reports: one for each server.

use crate::control::Control;
use crate::flow::observe::store_group::store_group;
use crate::metrics;

/// The most reports in one transaction: more make it no faster, and the transaction longer.
const MAX_GROUP: usize = 200;

/// Stores reports until the server stops; then those that wait.
pub async fn run_loop(server: Control) {
    let Some(mut waiting) = server.reports().take_receiver() else { return };
    let mut stopping = server.watch_stopping();
    let mut is_open = true;
    loop {
        let mut group = Vec::new();
        tokio::select! {
            count = waiting.recv_many(&mut group, MAX_GROUP) => if count == 0 { break },
            _ = stopping.wait_for(|is_stopping| *is_stopping), if is_open => {
                waiting.close();
                is_open = false;
                continue;
            }
        }
        store_group(&server, group).await;
        metrics::report_queue(waiting.len());
    }
}
