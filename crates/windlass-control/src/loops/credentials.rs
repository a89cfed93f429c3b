//! Keeps this server's access to credentials alive. Without access, the server still works and reports ready; only runs that
//! need a credential fail, with the reason.

use tokio::sync::Notify;

use crate::control::Control;
use crate::pace::{WaitResult, wait_for_nudge};

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let (credentials, never) = (&server.config().credentials, Notify::new());
    let (mut last, mut stopping) = (None, server.watch_stopping());
    loop {
        let problem = tokio::select! {
            kept = credentials.keep_alive() => kept.err(),
            // A slow Vault must not delay stopping.
            _ = stopping.wait_for(|is_stopping| *is_stopping) => return,
        };
        if problem != last {
            match &problem {
                Some(error) => tracing::warn!(code = error.code(), %error, "cannot read credentials"),
                None => tracing::info!("credentials are readable again"),
            }
            last = problem;
        }
        if wait_for_nudge(&server, &never, server.config().intervals.housekeeping).await
            == WaitResult::Stopping
        {
            return;
        }
    }
}
