//! Signs the heads of the audit chains and exports the checkpoints.

use std::time::Duration;

use windlass_store::StoreError;

use crate::checkpoint::export::export_checkpoints;
use crate::checkpoint::sign::{SignTiming, sign_chain};
use crate::clock::now;
use crate::control::Control;
use crate::pace::run_periodically;

/// How often chains are checked even if the signing interval is longer: many new entries are signed sooner.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().checkpoints.interval.min(CHECK_INTERVAL);
    run_periodically(&server, "checkpoints", &server.nudges().checkpoints, interval, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let heads = server.store().read().await?.audit_heads().await?;
    for (account_id, head) in heads {
        if server.signed_heads().last(&account_id).as_ref() != Some(&head) {
            sign_chain(server, &account_id, &head, SignTiming::Due, now()).await?;
        }
    }
    export_checkpoints(server).await
}
