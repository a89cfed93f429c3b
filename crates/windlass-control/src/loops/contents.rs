//! Deletes specs and documents that nothing names any more.

use std::time::Duration;

use tokio::sync::Notify;
use windlass_store::StoreError;

use crate::clock::now;
use crate::control::Control;
use crate::pace::run_periodically;

/// How often they are looked for. That reads every row that names one.
const RHYTHM: Duration = Duration::from_secs(6 * 3600);

/// How many are marked or deleted in one transaction.
const AT_ONCE: usize = 1_000;

/// Transactions in one turn; what is left waits for the next.
const TRANSACTIONS: usize = 100;

pub(crate) async fn run_loop(server: Control) {
    run_periodically(&server, "contents", &Notify::new(), RHYTHM, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let now = now();
    for _ in 0..TRANSACTIONS {
        let unnamed = server.store().read().await?.contents_unnamed(now, AT_ONCE).await?;
        if !unnamed.is_empty() {
            let mut writing = server.store().write().await?;
            writing.contents_sweep(&unnamed, now).await?;
            writing.commit().await?;
        }
        if unnamed.len() < AT_ONCE {
            break;
        }
    }
    Ok(())
}
