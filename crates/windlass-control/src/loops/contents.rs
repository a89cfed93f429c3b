//! Deletes specs and documents that nothing refers to any more.

use std::time::Duration;

use tokio::sync::Notify;
use windlass_store::StoreError;

use crate::clock::now;
use crate::control::Control;
use crate::pace::run_periodically;

/// How often Windlass searches for them. Each search reads every row that refers to one.
const INTERVAL: Duration = Duration::from_secs(6 * 3600);

/// How many are marked or deleted in one transaction.
const AT_ONCE: usize = 1_000;

/// The most transactions in one turn. The next turn continues.
const TRANSACTIONS: usize = 100;

pub(crate) async fn run_loop(server: Control) {
    run_periodically(&server, "contents", &Notify::new(), INTERVAL, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let now = now();
    for _ in 0..TRANSACTIONS {
        let unreferenced = server.store().read().await?.contents_unreferenced(now, AT_ONCE).await?;
        if !unreferenced.is_empty() {
            let mut writing = server.store().write().await?;
            writing.contents_sweep(&unreferenced, now).await?;
            writing.commit().await?;
        }
        if unreferenced.len() < AT_ONCE {
            break;
        }
    }
    Ok(())
}
