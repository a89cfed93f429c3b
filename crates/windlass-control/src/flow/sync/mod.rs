//! The sync loop: what is due or asked for is fetched, read, compared and proposed.
//!
//! Runs are rows before they are work: whoever asks queues one, and a server that died in the middle finds it again.
//! One run at a time for each repository, under a lease; what a run decided is saved in one transaction or not at all.

pub mod compare;
pub mod fetch;
pub mod fetch_commit;
pub mod finish;
pub mod fleet_at_commit;
pub mod keep_plan;
#[cfg(any(test, feature = "pretend"))]
pub mod pretend;
pub mod queue;
pub mod repeat;
pub mod run;
pub mod run_lease;
pub mod save;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use windlass_core::fairness::{LastResult, WorkerSlots};
use windlass_core::id::{RepositoryId, RunId};
use windlass_core::run::Run;

use crate::clock::now;
use crate::control::Control;
use crate::metrics;
use crate::pace::workers::{QueuedJob, Workers};
use crate::pace::{LoopPace, WaitResult};

/// Runs at the same time. Most of them wait for other people's servers; how many read and compare at once is limited by
/// [`Control::reading_permit`].
const SYNC_SLOTS: WorkerSlots = WorkerSlots { all: 16, reserved: 4, per_account: 3, unproven: 2 };

/// Works until the server stops. Runs that are under way are brought to an end.
pub(crate) async fn run_loop(server: Control) {
    let mut workers = Workers::new(SYNC_SLOTS);
    let put_off: Arc<Mutex<BTreeSet<RunId>>> = Arc::default();
    let pace =
        LoopPace { part: "sync", nudge: &server.nudges().sync, interval: server.config().intervals.schedule };
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(&server, &mut workers, &put_off).await;
        if pace.rest(&server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
    workers.finish().await;
}

/// Queues what is due and begins what is queued. `put_off` are runs that could not be worked on when they were tried last,
/// because another replica has them, say: they come after the others.
async fn turn(
    server: &Control,
    workers: &mut Workers,
    put_off: &Arc<Mutex<BTreeSet<RunId>>>,
) -> Result<(), windlass_store::StoreError> {
    queue::queue_due(server, now()).await?;
    let under_way = workers.lanes_under_way();
    let mut reading = server.store().read().await?;
    let mut unfinished = reading.runs_unfinished().await?;
    let unproven: BTreeSet<RepositoryId> = match unfinished.is_empty() {
        true => BTreeSet::new(),
        false => reading.repositories_last_failed().await?.into_iter().collect(),
    };
    drop(reading);
    metrics::sync_queue(unfinished.len());
    {
        let mut put_off = lock(put_off);
        put_off.retain(|id| unfinished.iter().any(|run| run.id == *id));
        unfinished.sort_by_key(|run| put_off.contains(&run.id));
    }
    let waiting = unfinished.into_iter().map(|run| QueuedJob {
        account: run.account_id.clone(),
        lane: run.repository_id.to_string(),
        last_result: if unproven.contains(&run.repository_id) {
            LastResult::Unproven
        } else {
            LastResult::Proven
        },
        task: run,
    });
    let work = |run: Run| {
        let server = server.clone();
        async move {
            let id = run.id.clone();
            (id, run::work(&server, run).await)
        }
    };
    let (server, put_off) = (server.clone(), Arc::clone(put_off));
    workers.begin(waiting.collect(), &under_way, work, move |(id, ended)| {
        // Another run may have waited for this one's place.
        if ended == run::RunEnd::Finished || lock(&put_off).insert(id) {
            server.nudges().sync.notify_one();
        }
    });
    Ok(())
}

/// A set is sound whatever the thread that held it last did.
fn lock(ids: &Mutex<BTreeSet<RunId>>) -> std::sync::MutexGuard<'_, BTreeSet<RunId>> {
    ids.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
