//! Reads that thousands of requests make at the same time, in few statements.
//!
//! A request asks for one key and waits. One read of a kind runs at a time; when it ends, the next takes every key that
//! waits by then. So a quiet server reads one key with one statement, and the groups grow with the load. Each read begins
//! after its keys were asked for: a request sees everything that was committed before it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_store::StoreError;

/// The most keys that are read at once: more make a statement no cheaper for each.
const MAX_GROUP: usize = 256;

/// Reads of one kind.
#[derive(Debug)]
pub(crate) struct GroupedReads<K, V> {
    queue: Arc<Mutex<ReadQueue<K, V>>>,
}

#[derive(Debug)]
struct ReadQueue<K, V> {
    waiting: Vec<WaitingRead<K, V>>,
    reader: ReaderState,
}

#[derive(Debug)]
struct WaitingRead<K, V> {
    key: K,
    answer: oneshot::Sender<Option<V>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    Idle,
    Running,
}

impl<K, V> Default for GroupedReads<K, V> {
    fn default() -> GroupedReads<K, V> {
        let queue = ReadQueue { waiting: Vec::new(), reader: ReaderState::Idle };
        GroupedReads { queue: Arc::new(Mutex::new(queue)) }
    }
}

/// Every change is complete before anything can panic, so the queue is valid even if a thread panicked meanwhile.
fn lock<K, V>(queue: &Mutex<ReadQueue<K, V>>) -> MutexGuard<'_, ReadQueue<K, V>> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<K, V> GroupedReads<K, V>
where
    K: Ord + Clone + Send + 'static,
    V: Clone + Send + 'static,
{
    /// The value of a key; none if there is none. `read` reads the values of several keys.
    pub(crate) async fn read<R>(&self, key: K, read: R) -> Result<Option<V>, StoreError>
    where
        R: ReadMany<K, V>,
    {
        let (answer, answered) = oneshot::channel();
        let must_start = {
            let mut queue = lock(&self.queue);
            queue.waiting.push(WaitingRead { key: key.clone(), answer });
            std::mem::replace(&mut queue.reader, ReaderState::Running) == ReaderState::Idle
        };
        if must_start {
            // A task of its own: a client that goes away must not take the reads of others with it.
            let reader = Reader { queue: Arc::clone(&self.queue), end: ReaderEnd::Panicked };
            let read = read.clone();
            tokio::spawn(async move { reader.run(read).await });
        }
        match answered.await {
            Ok(value) => Ok(value),
            // The read of the group failed: this one may not, and otherwise gets the error itself.
            Err(_) => Ok(read.read(vec![key.clone()]).await?.remove(&key)),
        }
    }
}

/// Reads the values of several keys.
pub(crate) trait ReadMany<K, V>: Clone + Send + 'static {
    /// The values that exist, by key.
    fn read(&self, keys: Vec<K>) -> impl Future<Output = Result<BTreeMap<K, V>, StoreError>> + Send;
}

/// The running reader.
struct Reader<K, V> {
    queue: Arc<Mutex<ReadQueue<K, V>>>,
    /// How it ended, once it is dropped.
    end: ReaderEnd,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderEnd {
    /// Nobody waited any more. Another reader may run already.
    Finished,
    Panicked,
}

impl<K, V> Drop for Reader<K, V> {
    fn drop(&mut self) {
        if self.end == ReaderEnd::Panicked {
            let mut queue = lock(&self.queue);
            queue.reader = ReaderState::Idle;
            // Those that wait read for themselves.
            queue.waiting.clear();
        }
    }
}

impl<K: Ord + Clone, V: Clone> Reader<K, V> {
    /// Reads until nobody waits.
    async fn run(mut self, read: impl ReadMany<K, V>) {
        while let Some(group) = self.next_group() {
            let mut keys: Vec<K> = group.iter().map(|waiting| waiting.key.clone()).collect();
            keys.sort_unstable();
            keys.dedup();
            // If it fails, each request reads for itself.
            let Ok(values) = read.read(keys).await else { continue };
            for WaitingRead { key, answer } in group {
                let _ = answer.send(values.get(&key).cloned());
            }
        }
    }

    /// The next keys to read; none if nobody waits.
    fn next_group(&mut self) -> Option<Vec<WaitingRead<K, V>>> {
        let mut queue = lock(&self.queue);
        if queue.waiting.is_empty() {
            queue.reader = ReaderState::Idle;
            self.end = ReaderEnd::Finished;
            return None;
        }
        let count = queue.waiting.len().min(MAX_GROUP);
        Some(queue.waiting.drain(..count).collect())
    }
}

#[cfg(test)]
#[path = "grouped_reads_tests.rs"]
mod tests;
