//! Keeps alive what lets this server read credentials. It works on, and stays ready, without: only runs that need a
//! credential fail, and say why.

use tokio::sync::Notify;

use crate::control::Control;
use crate::pace::{WaitResult, wait_for_nudge};

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let (credentials, never) = (&server.config().credentials, Notify::new());
    let (mut last, mut stopping) = (None, server.watch_stopping());
    loop {
        let trouble = tokio::select! {
            kept = credentials.keep_alive() => kept.err(),
            // Vault may take its time; stopping does not.
            _ = stopping.wait_for(|is_stopping| *is_stopping) => return,
        };
        if trouble != last {
            match &trouble {
                Some(error) => tracing::warn!(code = error.code(), %error, "cannot read credentials"),
                None => tracing::info!("credentials are readable again"),
            }
            last = trouble;
        }
        if wait_for_nudge(&server, &never, server.config().intervals.housekeeping).await
            == WaitResult::Stopping
        {
            return;
        }
    }
}
