//! The sync loop: fetches, reads and compares repositories that are due or requested, and proposes the changes.
//!
//! A run is stored before the work begins: a request only queues it, and after a crash a server finds it again. Each
//! repository has one run at a time, under a lease. The result of a run is saved in one transaction or not at all.

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

/// Runs at the same time. Most of them wait for git servers; [`Control::reading_permit`] limits how many read and
/// compare at once.
const SYNC_SLOTS: WorkerSlots = WorkerSlots { all: 16, reserved: 4, per_account: 3, unproven: 2 };

/// Works until the server stops, then waits for the runs in progress.
pub(crate) async fn run_loop(server: Control) {
    let mut workers = Workers::new(SYNC_SLOTS);
    let put_off: Arc<Mutex<BTreeSet<RunId>>> = Arc::default();
    let pace =
        LoopPace { part: "sync", nudge: &server.nudges().sync, interval: server.config().intervals.schedule };
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(&server, &mut workers, &put_off).await;
        if pace.wait_for_next_turn(&server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
    workers.finish().await;
}

/// Queues due runs and starts queued ones. `put_off` are runs that could not be worked on at the last attempt, for
/// example because another replica has them: they start after the others.
async fn turn(
    server: &Control,
    workers: &mut Workers,
    put_off: &Arc<Mutex<BTreeSet<RunId>>>,
) -> Result<(), windlass_store::StoreError> {
    queue::queue_due(server, now()).await?;
    let busy = workers.busy_lanes();
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
            (id, run::run_sync(&server, run).await)
        }
    };
    let (server, put_off) = (server.clone(), Arc::clone(put_off));
    workers.begin(waiting.collect(), &busy, work, move |(id, ended)| {
        // Another run may be waiting for this one's slot.
        if ended == run::RunEnd::Finished || lock(&put_off).insert(id) {
            server.nudges().sync.notify_one();
        }
    });
    Ok(())
}

/// A poisoned lock is safe to use: a panic cannot leave the set half changed.
fn lock(ids: &Mutex<BTreeSet<RunId>>) -> std::sync::MutexGuard<'_, BTreeSet<RunId>> {
    ids.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
