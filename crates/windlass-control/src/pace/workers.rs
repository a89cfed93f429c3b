//! Work under way beside a loop, shared fairly between accounts: a loop hands over what waits, and what may begin begins.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;
use windlass_core::fairness::{LastResult, WorkItem, WorkerSlots, choose_next};
use windlass_core::id::AccountId;

/// Work that waits.
#[derive(Clone, Debug)]
pub(crate) struct QueuedJob<T> {
    pub(crate) account: AccountId,
    /// Only one of a lane is under way at a time.
    pub(crate) lane: String,
    pub(crate) last_result: LastResult,
    pub(crate) task: T,
}

/// Where work is under way.
#[derive(Debug)]
struct BusySlot {
    account: AccountId,
    lane: String,
    last_result: LastResult,
}

/// The lanes that were busy at a moment.
#[derive(Clone, Debug)]
pub(crate) struct LanesUnderWay(BTreeSet<String>);

/// What is under way.
pub(crate) struct Workers {
    places: WorkerSlots,
    under_way: Arc<Mutex<Vec<BusySlot>>>,
    tasks: JoinSet<()>,
}

impl Workers {
    pub(crate) fn new(places: WorkerSlots) -> Workers {
        Workers { places, under_way: Arc::default(), tasks: JoinSet::new() }
    }

    /// What is under way now. Whoever looks for waiting work notes this before they read it.
    pub(crate) fn lanes_under_way(&self) -> LanesUnderWay {
        LanesUnderWay(lock(&self.under_way).iter().map(|place| place.lane.clone()).collect())
    }

    /// Begins what may begin of the waiting work, oldest first. What was under way when it was read may have ended since,
    /// so that it only seems to wait: it is left to the next look, for which its end is the sign. `work` makes a job's
    /// future; `ended` is called with what came of it once its place is free again.
    pub(crate) fn begin<T, F>(
        &mut self,
        mut waiting: Vec<QueuedJob<T>>,
        LanesUnderWay(stale): &LanesUnderWay,
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
            let place = BusySlot { account, lane: lane.clone(), last_result };
            lock(&self.under_way).push(place);
            // Dropped at the end, or if the work panics: its place is never lost.
            let place = SlotGuard { under_way: Arc::clone(&self.under_way), lane };
            let (future, ended) = (work(task), ended.clone());
            self.tasks.spawn(async move {
                let outcome = future.await;
                drop(place);
                ended(outcome);
            });
        }
    }

    fn choose<T>(&self, waiting: &[QueuedJob<T>]) -> Vec<usize> {
        let under_way = lock(&self.under_way);
        let busy: Vec<WorkItem<'_>> = under_way
            .iter()
            .map(|place| WorkItem {
                account: &place.account,
                lane: &place.lane,
                last_result: place.last_result,
            })
            .collect();
        let waiting: Vec<WorkItem<'_>> = waiting
            .iter()
            .map(|job| WorkItem { account: &job.account, lane: &job.lane, last_result: job.last_result })
            .collect();
        choose_next(&waiting, &busy, self.places)
    }

    /// Whether anything is under way.
    pub(crate) fn is_busy(&self) -> bool {
        !lock(&self.under_way).is_empty()
    }

    /// Waits until everything that is under way has ended.
    pub(crate) async fn finish(mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

struct SlotGuard {
    under_way: Arc<Mutex<Vec<BusySlot>>>,
    lane: String,
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        lock(&self.under_way).retain(|place| place.lane != self.lane);
    }
}

/// A list is sound whatever the thread that held it last did.
fn lock(under_way: &Mutex<Vec<BusySlot>>) -> std::sync::MutexGuard<'_, Vec<BusySlot>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn what_ended_between_reading_and_beginning_is_not_done_twice() {
        let places = WorkerSlots { all: 4, reserved: 0, per_account: 4, unproven: 4 };
        let mut workers = Workers::new(places);
        let job = |task: u32| QueuedJob {
            account: AccountId::new("acme"),
            lane: "fleet".to_owned(),
            last_result: LastResult::Proven,
            task,
        };
        let (done, mut told) = mpsc::unbounded_channel();
        let ended = move |task: u32| done.send(task).expect("someone listens");
        let work = |task: u32| async move { task };
        let nothing = workers.lanes_under_way();
        workers.begin(vec![job(1)], &nothing, work, ended.clone());
        let before = workers.lanes_under_way();
        // What was read now still has the first, which ends before anything begins.
        let read = vec![job(1)];
        assert_eq!(told.recv().await, Some(1));
        workers.begin(read, &before, work, ended.clone());
        let after = workers.lanes_under_way();
        workers.begin(vec![job(2)], &after, work, ended);
        assert_eq!(told.recv().await, Some(2), "only what is read after its end");
    }
}
