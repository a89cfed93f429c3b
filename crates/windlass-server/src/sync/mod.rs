//! The sync loop: what is due or asked for is fetched, read, compared and proposed.
//!
//! Runs are rows before they are work: whoever asks queues one, and a server that died in the middle finds it again.
//! One run at a time for each repository, under a lease; what a run decided is saved in one transaction or not at all.

mod bring;
mod compare;
mod decide;
mod fetch;
mod material;
mod queue;
mod run;
mod save;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tokio::task::JoinSet;

pub(crate) use bring::{BringError, Brought, bring, internal, read_material, told};
pub(crate) use compare::{Compared, compare};
pub(crate) use fetch::{FetchPlan, required_keys, run_error};
pub(crate) use material::{Material, read_fleet_at};
pub(crate) use queue::{SyncRequest, queue_run};

use crate::clock::now;
use crate::loops::{Pause, pause};
use crate::numbers::{self, Outcome};
use crate::server::Server;

/// Runs at the same time: two cores fetch and read no faster with more.
const WORKERS: usize = 4;

/// Works until the server stops. Runs that are under way are brought to an end.
pub(crate) async fn run_loop(server: Server) {
    let busy: Arc<Mutex<BTreeSet<String>>> = Arc::default();
    let mut tasks = JoinSet::new();
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(&server, &busy, &mut tasks).await;
        numbers::turn("sync", Outcome::of(&turned), begun.elapsed(), now().as_millis() / 1000);
        let pause_for = match turned {
            Ok(()) => {
                server.clear_trouble("sync");
                server.config().rhythm.schedule
            }
            Err(error) => server.report_trouble("sync", &error),
        };
        while tasks.try_join_next().is_some() {}
        if pause(&server, &server.nudges().sync, pause_for).await == Pause::Stopping {
            break;
        }
    }
    while tasks.join_next().await.is_some() {}
}

/// Queues what is due and begins what is queued.
async fn turn(
    server: &Server,
    busy: &Arc<Mutex<BTreeSet<String>>>,
    tasks: &mut JoinSet<()>,
) -> Result<(), windlass_store::StoreError> {
    queue::queue_due(server, now()).await?;
    let unfinished = server.store().read().await?.runs_unfinished().await?;
    numbers::sync_queue(unfinished.len());
    for unfinished_run in unfinished {
        let repository_id = unfinished_run.repository_id.clone();
        {
            let mut busy = lock(busy);
            if busy.len() >= WORKERS || !busy.insert(repository_id.clone()) {
                continue;
            }
        }
        let (server, busy) = (server.clone(), Arc::clone(busy));
        tasks.spawn(async move {
            let again = run::work(&server, unfinished_run).await;
            lock(&busy).remove(&repository_id);
            if again == run::Ended::Finished {
                // Another run of the same repository may have waited for this one.
                server.nudges().sync.notify_one();
            }
        });
    }
    Ok(())
}

/// A set is sound whatever the thread that held it last did.
fn lock(busy: &Mutex<BTreeSet<String>>) -> std::sync::MutexGuard<'_, BTreeSet<String>> {
    busy.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
