//! Numbers the events that agents reported: moves them to the events of their accounts, many in each transaction.

use std::time::Duration;

use windlass_store::StoreError;

use crate::control::Control;
use crate::pace::run_periodically;

/// How often Windlass looks without a nudge: another replica may have stored some and stopped.
const INTERVAL: Duration = Duration::from_secs(15);

/// How many events of an account are numbered in one transaction, which holds the lock of the account.
const AT_ONCE: usize = 500;

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    run_periodically(&server, "agent_events", &server.nudges().agent_events, INTERVAL, number_events).await;
}

/// Numbers all events that wait.
pub async fn number_events(server: &Control) -> Result<(), StoreError> {
    let accounts = server.store().read().await?.agent_events_accounts().await?;
    for account_id in accounts {
        loop {
            let mut writing = server.store().write_account(&account_id).await?;
            let moved = writing.agent_events_number(AT_ONCE).await?;
            // Comparisons do not read events.
            writing.keep_state();
            server.commit(writing).await?;
            if moved < AT_ONCE {
                break;
            }
        }
        server.nudges().notifications.notify_one();
    }
    Ok(())
}
