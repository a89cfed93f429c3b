//! Signs the heads of the audit chains and sends the checkpoints elsewhere.

use std::time::Duration;

use windlass_store::StoreError;

use crate::checkpoint::ship::ship;
use crate::checkpoint::sign::{When, sign_chain};
use crate::clock::now;
use crate::control::Control;
use crate::pace::every;

/// How often chains are looked at, however long a new entry may wait: many at once are signed sooner.
const LOOK: Duration = Duration::from_secs(60);

pub(crate) async fn run_loop(server: Control) {
    let rhythm = server.config().checkpoints.interval.min(LOOK);
    every(&server, "checkpoints", &server.nudges().checkpoints, rhythm, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let heads = server.store().read().await?.audit_heads().await?;
    for (account_id, head) in heads {
        if server.signed_heads().last(&account_id).as_ref() != Some(&head) {
            sign_chain(server, &account_id, &head, When::Due, now()).await?;
        }
    }
    ship(server).await
}
