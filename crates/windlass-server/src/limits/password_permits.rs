//! Turns to have a password verified, which costs much: a few at a time, and each address block as often as another.
//!
//! A flood from one place waits for itself. When too many wait, those of whoever waits most often give way.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use windlass_core::inbound::address::AddressBlock;

/// Sign-ins that wait at once.
const MAX_WAITING: usize = 128;

/// Turns at once: half of the cores are left for everything else.
fn turns_at_once() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (cores / 2).clamp(1, 4)
}

/// Too many wait already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooManySignIns;

/// Turns to have a password verified.
#[derive(Clone, Debug)]
pub(crate) struct PasswordPermits {
    queue: Arc<Mutex<PasswordQueue>>,
}

impl Default for PasswordPermits {
    fn default() -> PasswordPermits {
        PasswordPermits::new(turns_at_once(), MAX_WAITING)
    }
}

/// A turn, until it is dropped; then the next one begins.
#[derive(Debug)]
pub(crate) struct PasswordPermit {
    turns: PasswordPermits,
}

impl Drop for PasswordPermit {
    fn drop(&mut self) {
        let next = self.turns.lock().next_waiting();
        if let Some(waiting) = next {
            // If nobody waits there any more, the turn comes back and is dropped, which passes it on.
            let _ = waiting.send(PasswordPermit { turns: self.turns.clone() });
        }
    }
}

impl PasswordPermits {
    fn new(at_once: usize, most_waiting: usize) -> PasswordPermits {
        let queue =
            PasswordQueue { free: at_once, most_waiting, waiting: BTreeMap::new(), order: VecDeque::new() };
        PasswordPermits { queue: Arc::new(Mutex::new(queue)) }
    }

    /// Waits for a turn of an address block.
    pub(crate) async fn take(&self, block: AddressBlock) -> Result<PasswordPermit, TooManySignIns> {
        let arrival = self.lock().arrive(block);
        match arrival {
            QueueResult::Begins => Ok(PasswordPermit { turns: self.clone() }),
            QueueResult::Waits(turn) => turn.await.map_err(|_| TooManySignIns),
            QueueResult::Refused => Err(TooManySignIns),
        }
    }

    fn lock(&self) -> MutexGuard<'_, PasswordQueue> {
        // Every change of the queue is whole, whatever the thread that held it last did.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Waiting = oneshot::Sender<PasswordPermit>;

enum QueueResult {
    Begins,
    Waits(oneshot::Receiver<PasswordPermit>),
    Refused,
}

#[derive(Debug)]
struct PasswordQueue {
    free: usize,
    most_waiting: usize,
    waiting: BTreeMap<AddressBlock, VecDeque<Waiting>>,
    /// Blocks that wait, each once, the next one first.
    order: VecDeque<AddressBlock>,
}

impl PasswordQueue {
    fn arrive(&mut self, block: AddressBlock) -> QueueResult {
        if self.free > 0 {
            self.free -= 1;
            return QueueResult::Begins;
        }
        self.forget_gone();
        let count: usize = self.waiting.values().map(VecDeque::len).sum();
        if count >= self.most_waiting && !self.make_room(block) {
            return QueueResult::Refused;
        }
        let (waiting, turn) = oneshot::channel();
        let of_block = self.waiting.entry(block).or_default();
        if of_block.is_empty() {
            self.order.push_back(block);
        }
        of_block.push_back(waiting);
        QueueResult::Waits(turn)
    }

    /// Takes out those who no longer wait.
    fn forget_gone(&mut self) {
        self.waiting.retain(|_, of_block| {
            of_block.retain(|waiting| !waiting.is_closed());
            !of_block.is_empty()
        });
        self.order.retain(|block| self.waiting.contains_key(block));
    }

    /// Sends the last one away of the block that waits most often, unless that is as often as `block` would then.
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

    /// Who has the next turn: one of each block, round and round.
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

    /// Someone who waits, up to the moment at which they are in the queue.
    fn waiting(turns: &PasswordPermits, from: &str) -> oneshot::Receiver<PasswordPermit> {
        match turns.lock().arrive(block(from)) {
            QueueResult::Waits(turn) => turn,
            _ => panic!("neither a turn nor too many"),
        }
    }

    #[tokio::test]
    async fn each_block_has_its_turn_however_many_wait_from_another() {
        let turns = PasswordPermits::new(1, 10);
        let first = turns.take(block("192.0.2.1")).await.expect("nobody else is there");
        let mut flood: Vec<_> = (0..5).map(|_| waiting(&turns, "192.0.2.1")).collect();
        let mut one = waiting(&turns, "192.0.2.2");
        drop(first);
        let second = flood[0].try_recv().expect("whoever came first");
        assert!(one.try_recv().is_err());
        drop(second);
        assert!(one.try_recv().is_ok(), "and not the second of the flood");
        assert!(flood[1].try_recv().is_ok());
    }

    #[tokio::test]
    async fn whoever_waits_most_often_gives_way_and_nobody_else() {
        let turns = PasswordPermits::new(1, 3);
        let _busy = turns.take(block("192.0.2.1")).await.expect("nobody else is there");
        let mut flood: Vec<_> = (0..3).map(|_| waiting(&turns, "192.0.2.1")).collect();
        assert_eq!(turns.take(block("192.0.2.1")).await.err(), Some(TooManySignIns));
        let mut other = waiting(&turns, "192.0.2.2");
        assert_eq!(flood[2].try_recv().err(), Some(oneshot::error::TryRecvError::Closed));
        assert_eq!(other.try_recv().err(), Some(oneshot::error::TryRecvError::Empty));
        assert_eq!(turns.take(block("192.0.2.2")).await.err(), Some(TooManySignIns), "two and one are fair");
    }

    #[tokio::test]
    async fn a_turn_that_nobody_waits_for_any_more_is_not_lost() {
        let turns = PasswordPermits::new(1, 10);
        let first = turns.take(block("192.0.2.1")).await.expect("nobody else is there");
        drop(waiting(&turns, "192.0.2.2"));
        let kept = waiting(&turns, "192.0.2.3");
        drop(first);
        drop(kept);
        assert!(turns.take(block("192.0.2.4")).await.is_ok());
        assert_eq!(turns.lock().free, 1);
    }
}
