//! Permits to verify a password, which is expensive: a few at a time, and address blocks take turns.
//!
//! A flood from one block delays only that block. When too many sign-ins wait, the block with the most of them loses one.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_core::inbound::address::AddressBlock;

/// How many sign-ins may wait.
const MAX_WAITING: usize = 128;

/// How many passwords are verified at the same time: half of the cores, at least one and at most four. The other cores are
/// for everything else.
fn max_concurrent() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores / 2).clamp(1, 4)
}

/// Too many sign-ins wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManySignIns;

/// The permits to verify a password.
#[derive(Clone, Debug)]
pub(crate) struct PasswordPermits {
    queue: Arc<Mutex<PasswordQueue>>,
}

impl Default for PasswordPermits {
    fn default() -> PasswordPermits {
        PasswordPermits::new(max_concurrent(), MAX_WAITING)
    }
}

/// A permit. Dropping it passes it to the next sign-in that waits.
#[derive(Debug)]
pub(crate) struct PasswordPermit {
    permits: PasswordPermits,
}

impl Drop for PasswordPermit {
    fn drop(&mut self) {
        let next = self.permits.lock().next_waiting();
        if let Some(waiting) = next {
            // If the receiver is gone, `send` returns the permit, and dropping it passes it on.
            let _ = waiting.send(PasswordPermit { permits: self.permits.clone() });
        }
    }
}

impl PasswordPermits {
    fn new(max_concurrent: usize, max_waiting: usize) -> PasswordPermits {
        let queue = PasswordQueue {
            free: max_concurrent,
            max_waiting,
            waiting: BTreeMap::new(),
            order: VecDeque::new(),
        };
        PasswordPermits { queue: Arc::new(Mutex::new(queue)) }
    }

    /// Waits for a permit for an address block.
    pub(crate) async fn take(&self, block: AddressBlock) -> Result<PasswordPermit, TooManySignIns> {
        let queued = self.lock().enqueue(block);
        match queued {
            QueueResult::Granted => Ok(PasswordPermit { permits: self.clone() }),
            QueueResult::Queued(permit) => permit.await.map_err(|_| TooManySignIns),
            QueueResult::Rejected => Err(TooManySignIns),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PasswordQueue> {
        // Consistent even if a thread panicked while it held the lock.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Waiting = oneshot::Sender<PasswordPermit>;

enum QueueResult {
    Granted,
    Queued(oneshot::Receiver<PasswordPermit>),
    Rejected,
}

#[derive(Debug)]
struct PasswordQueue {
    free: usize,
    max_waiting: usize,
    waiting: BTreeMap<AddressBlock, VecDeque<Waiting>>,
    /// The blocks with sign-ins that wait, each once, the next one first.
    order: VecDeque<AddressBlock>,
}

impl PasswordQueue {
    fn enqueue(&mut self, block: AddressBlock) -> QueueResult {
        if self.free > 0 {
            self.free -= 1;
            return QueueResult::Granted;
        }
        self.remove_abandoned();
        let count: usize = self.waiting.values().map(VecDeque::len).sum();
        if count >= self.max_waiting && !self.make_room(block) {
            return QueueResult::Rejected;
        }
        let (waiting, permit) = oneshot::channel();
        let of_block = self.waiting.entry(block).or_default();
        if of_block.is_empty() {
            self.order.push_back(block);
        }
        of_block.push_back(waiting);
        QueueResult::Queued(permit)
    }

    /// Removes sign-ins that no longer wait.
    fn remove_abandoned(&mut self) {
        self.waiting.retain(|_, of_block| {
            of_block.retain(|waiting| !waiting.is_closed());
            !of_block.is_empty()
        });
        self.order.retain(|block| self.waiting.contains_key(block));
    }

    /// Rejects the last sign-in of the block with the most, unless `block` would then have as many.
    fn make_room(&mut self, block: AddressBlock) -> bool {
        let own = self.waiting.get(&block).map_or(0, VecDeque::len);
        let Some((longest, count)) = self
            .waiting
            .iter()
            .map(|(block, waiting)| (*block, waiting.len()))
            .max_by_key(|(_, count)| *count)
        else {
            return false;
        };
        if count <= own + 1 {
            return false;
        }
        self.waiting.get_mut(&longest).is_some_and(|of_block| of_block.pop_back().is_some())
    }

    /// The sign-in that gets the next permit: blocks take turns, one sign-in each.
    fn next_waiting(&mut self) -> Option<Waiting> {
        while let Some(block) = self.order.pop_front() {
            let Some(of_block) = self.waiting.get_mut(&block) else { continue };
            let next = of_block.pop_front();
            match of_block.is_empty() {
                true => drop(self.waiting.remove(&block)),
                false => self.order.push_back(block),
            }
            if next.is_some() {
                return next;
            }
        }
        self.free += 1;
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> AddressBlock {
        AddressBlock::of_text(text)
    }

    /// Adds a sign-in to the queue.
    fn waiting(permits: &PasswordPermits, from: &str) -> oneshot::Receiver<PasswordPermit> {
        match permits.lock().enqueue(block(from)) {
            QueueResult::Queued(permit) => permit,
            _ => panic!("neither a turn nor too many"),
        }
    }

    #[tokio::test]
    async fn blocks_take_turns_however_many_sign_ins_one_of_them_has() {
        let permits = PasswordPermits::new(1, 10);
        let first = permits.take(block("192.0.2.1")).await.expect("nobody else is there");
        let mut flood: Vec<_> = (0..5).map(|_| waiting(&permits, "192.0.2.1")).collect();
        let mut one = waiting(&permits, "192.0.2.2");
        drop(first);
        let second = flood[0].try_recv().expect("whoever came first");
        assert!(one.try_recv().is_err());
        drop(second);
        assert!(one.try_recv().is_ok(), "and not the second of the flood");
        assert!(flood[1].try_recv().is_ok());
    }

    #[tokio::test]
    async fn only_the_block_with_the_most_waiting_sign_ins_loses_one() {
        let permits = PasswordPermits::new(1, 3);
        let _busy = permits.take(block("192.0.2.1")).await.expect("nobody else is there");
        let mut flood: Vec<_> = (0..3).map(|_| waiting(&permits, "192.0.2.1")).collect();
        assert_eq!(permits.take(block("192.0.2.1")).await.err(), Some(TooManySignIns));
        let mut other = waiting(&permits, "192.0.2.2");
        assert_eq!(flood[2].try_recv().err(), Some(oneshot::error::TryRecvError::Closed));
        assert_eq!(other.try_recv().err(), Some(oneshot::error::TryRecvError::Empty));
        assert_eq!(
            permits.take(block("192.0.2.2")).await.err(),
            Some(TooManySignIns),
            "two and one are fair"
        );
    }

    #[tokio::test]
    async fn a_permit_for_an_abandoned_sign_in_is_passed_on() {
        let permits = PasswordPermits::new(1, 10);
        let first = permits.take(block("192.0.2.1")).await.expect("nobody else is there");
        drop(waiting(&permits, "192.0.2.2"));
        let kept = waiting(&permits, "192.0.2.3");
        drop(first);
        drop(kept);
        assert!(permits.take(block("192.0.2.4")).await.is_ok());
        assert_eq!(permits.lock().free, 1);
    }
}
