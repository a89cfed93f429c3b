//! Background work of a loop, shared fairly between accounts: the loop passes the queued jobs, and those that fit are started.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;
use windlass_core::fairness::{LastResult, WorkItem, WorkerSlots, choose_next};
use windlass_core::id::AccountId;

/// A job that waits for a slot.
#[derive(Clone, Debug)]
pub(crate) struct QueuedJob<T> {
    pub(crate) account: AccountId,
    /// Only one job of a lane runs at a time.
    pub(crate) lane: String,
    pub(crate) last_result: LastResult,
    pub(crate) task: T,
}

/// A slot with a running job.
#[derive(Debug)]
struct BusySlot {
    account: AccountId,
    lane: String,
    last_result: LastResult,
}

/// The lanes that were busy at one time.
#[derive(Clone, Debug)]
pub(crate) struct BusyLanes(BTreeSet<String>);

/// The running jobs.
pub(crate) struct Workers {
    slots: WorkerSlots,
    busy: Arc<Mutex<Vec<BusySlot>>>,
    tasks: JoinSet<()>,
}

impl Workers {
    pub(crate) fn new(slots: WorkerSlots) -> Workers {
        Workers { slots, busy: Arc::default(), tasks: JoinSet::new() }
    }

    /// The lanes that are busy now. A caller must call this before it reads the queue.
    pub(crate) fn busy_lanes(&self) -> BusyLanes {
        BusyLanes(lock(&self.busy).iter().map(|slot| slot.lane.clone()).collect())
    }

    /// Starts the queued jobs that may start, oldest first. Skips lanes that were busy when the queue was read: their job may
    /// have ended since and only seem to be queued, and its end makes the loop read the queue again. `work` creates a job's
    /// future; `ended` is called with its output once its slot is free again.
    pub(crate) fn begin<T, F>(
        &mut self,
        mut waiting: Vec<QueuedJob<T>>,
        BusyLanes(stale): &BusyLanes,
        work: impl Fn(T) -> F,
        ended: impl Fn(F::Output) + Clone + Send + 'static,
    ) where
        F: Future<Output: Send> + Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        waiting.retain(|job| !stale.contains(&job.lane));
        let chosen = self.choose(&waiting);
        let mut waiting: Vec<Option<QueuedJob<T>>> = waiting.into_iter().map(Some).collect();
        for index in chosen {
            let Some(QueuedJob { account, lane, last_result, task }) = waiting[index].take() else {
                continue;
            };
            let slot = BusySlot { account, lane: lane.clone(), last_result };
            lock(&self.busy).push(slot);
            // Dropped at the end, or if the work panics, so that the slot is always released.
            let slot = SlotGuard { busy: Arc::clone(&self.busy), lane };
            let (future, ended) = (work(task), ended.clone());
            self.tasks.spawn(async move {
                let outcome = future.await;
                drop(slot);
                ended(outcome);
            });
        }
    }

    fn choose<T>(&self, waiting: &[QueuedJob<T>]) -> Vec<usize> {
        let busy = lock(&self.busy);
        let busy: Vec<WorkItem<'_>> = busy
            .iter()
            .map(|slot| WorkItem { account: &slot.account, lane: &slot.lane, last_result: slot.last_result })
            .collect();
        let waiting: Vec<WorkItem<'_>> = waiting
            .iter()
            .map(|job| WorkItem { account: &job.account, lane: &job.lane, last_result: job.last_result })
            .collect();
        choose_next(&waiting, &busy, self.slots)
    }

    /// Whether any job is running.
    pub(crate) fn is_busy(&self) -> bool {
        !lock(&self.busy).is_empty()
    }

    /// Waits until all running jobs have ended.
    pub(crate) async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

struct SlotGuard {
    busy: Arc<Mutex<Vec<BusySlot>>>,
    lane: String,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        lock(&self.busy).retain(|slot| slot.lane != self.lane);
    }
}

/// Ignores poisoning: the list is valid even if a thread panicked while it held the lock.
fn lock(busy: &Mutex<Vec<BusySlot>>) -> std::sync::MutexGuard<'_, Vec<BusySlot>> {
    busy.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn a_job_that_ends_while_the_queue_is_read_is_not_started_again() {
        let slots = WorkerSlots { all: 4, reserved: 0, per_account: 4, unproven: 4 };
        let mut workers = Workers::new(slots);
        let job = |task: u32| QueuedJob {
            account: AccountId::new("acme"),
            lane: "fleet".to_owned(),
            last_result: LastResult::Proven,
            task,
        };
        let (done, mut results) = mpsc::unbounded_channel();
        let ended = move |task: u32| done.send(task).expect("someone listens");
        let work = |task: u32| async move { task };
        let nothing = workers.busy_lanes();
        workers.begin(vec![job(1)], &nothing, work, ended.clone());
        let before = workers.busy_lanes();
        // The queue as read now still contains the first job, which ends before the next start.
        let read = vec![job(1)];
        assert_eq!(results.recv().await, Some(1));
        workers.begin(read, &before, work, ended.clone());
        let after = workers.busy_lanes();
        workers.begin(vec![job(2)], &after, work, ended);
        assert_eq!(results.recv().await, Some(2), "only what is read after its end");
    }
}
