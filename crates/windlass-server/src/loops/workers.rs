//! Work under way beside a loop, shared fairly between accounts: a loop hands over what waits, and what may begin begins.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::task::JoinSet;
use windlass_core::fairness::{Places, Trust, Work, choose};

/// Work that waits.
#[derive(Clone, Debug)]
pub(crate) struct Job<T> {
    pub(crate) account: String,
    /// Only one of a lane is under way at a time.
    pub(crate) lane: String,
    pub(crate) trust: Trust,
    pub(crate) task: T,
}

/// Where work is under way.
#[derive(Debug)]
struct Place {
    account: String,
    lane: String,
    trust: Trust,
}

/// What is under way.
pub(crate) struct Workers {
    places: Places,
    under_way: Arc<Mutex<Vec<Place>>>,
    tasks: JoinSet<()>,
}

impl Workers {
    pub(crate) fn new(places: Places) -> Workers {
        Workers { places, under_way: Arc::default(), tasks: JoinSet::new() }
    }

    /// Begins what may begin of the waiting work, oldest first. `work` makes a job's future; `ended` is called with what
    /// came of it once its place is free again.
    pub(crate) fn begin<T, F>(
        &mut self,
        waiting: Vec<Job<T>>,
        work: impl Fn(T) -> F,
        ended: impl Fn(F::Output) + Clone + Send + 'static,
    ) where
        F: Future<Output: Send> + Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        let chosen = self.choose(&waiting);
        let mut waiting: Vec<Option<Job<T>>> = waiting.into_iter().map(Some).collect();
        for index in chosen {
            let Some(Job { account, lane, trust, task }) = waiting[index].take() else { continue };
            let place = Place { account, lane: lane.clone(), trust };
            lock(&self.under_way).push(place);
            // Dropped at the end, or if the work panics: its place is never lost.
            let place = TakenPlace { under_way: Arc::clone(&self.under_way), lane };
            let (future, ended) = (work(task), ended.clone());
            self.tasks.spawn(async move {
                let outcome = future.await;
                drop(place);
                ended(outcome);
            });
        }
    }

    fn choose<T>(&self, waiting: &[Job<T>]) -> Vec<usize> {
        let under_way = lock(&self.under_way);
        let busy: Vec<Work<'_>> = under_way
            .iter()
            .map(|place| Work { account: &place.account, lane: &place.lane, trust: place.trust })
            .collect();
        let waiting: Vec<Work<'_>> = waiting
            .iter()
            .map(|job| Work { account: &job.account, lane: &job.lane, trust: job.trust })
            .collect();
        choose(&waiting, &busy, self.places)
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

struct TakenPlace {
    under_way: Arc<Mutex<Vec<Place>>>,
    lane: String,
}

impl Drop for TakenPlace {
    fn drop(&mut self) {
        lock(&self.under_way).retain(|place| place.lane != self.lane);
    }
}

/// A list is sound whatever the thread that held it last did.
fn lock(under_way: &Mutex<Vec<Place>>) -> std::sync::MutexGuard<'_, Vec<Place>> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}
