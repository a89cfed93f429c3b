//! How many previews are made at a time, for whom, and what bodies that were not looked at yet may hold.
//!
//! Each preview may hold a fleet of 64 MiB and what is made of it, so few are made at once. No account has more than half
//! of the turns, and those who wait are let in account by account: whoever asks for many waits for themselves. A turn is
//! taken after the body is here, so that whoever sends slowly holds nothing but what was sent.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::PreviewError;

/// Previews at the same time.
const AT_ONCE: usize = 4;

/// Those of one account.
const AT_ONCE_EACH: usize = 2;

/// Those of one account that may wait.
const WAITING_EACH: usize = 16;

/// How long one waits for its turn before whoever asked is told to come back.
const PATIENCE: Duration = Duration::from_secs(10);

/// Bytes of all bodies that were sent and not looked at yet.
const WAITING_BYTES: usize = 256 << 20;

/// Turns to make a preview.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns {
    queue: Arc<Mutex<Queue>>,
}

#[derive(Debug, Default)]
struct Queue {
    /// Turns that are taken, by account.
    taken: BTreeMap<String, usize>,
    /// Who waits, by account. The account that was let in last stands last.
    waiting: VecDeque<(String, VecDeque<oneshot::Sender<Turn>>)>,
}

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Turn {
    turns: Turns,
    account: String,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.end(&self.account);
    }
}

impl Turns {
    /// A turn for an account.
    pub(crate) async fn take(&self, account: &str) -> Result<Turn, PreviewError> {
        let admitted = self.ask(account)?;
        match tokio::time::timeout(PATIENCE, admitted).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(PreviewError::Busy),
        }
    }

    /// Stands in line.
    fn ask(&self, account: &str) -> Result<oneshot::Receiver<Turn>, PreviewError> {
        let (admit, admitted) = oneshot::channel();
        let mut queue = self.lock();
        let place = queue.waiting.iter().position(|(waiting, _)| waiting == account);
        match place {
            Some(place) => {
                let line = &mut queue.waiting[place].1;
                line.retain(|admit| !admit.is_closed());
                if line.len() >= WAITING_EACH {
                    return Err(PreviewError::Busy);
                }
                line.push_back(admit);
            }
            None => queue.waiting.push_back((account.to_owned(), VecDeque::from([admit]))),
        }
        self.admit(queue);
        Ok(admitted)
    }

    fn end(&self, account: &str) {
        let mut queue = self.lock();
        if let Some(taken) = queue.taken.get_mut(account) {
            *taken -= 1;
            if *taken == 0 {
                queue.taken.remove(account);
            }
        }
        self.admit(queue);
    }

    /// Lets in whoever may, account by account.
    fn admit(&self, mut queue: MutexGuard<'_, Queue>) {
        // Someone who went away meanwhile gives the turn back, which needs the queue.
        let mut refused = Vec::new();
        while let Some((account, admit)) = queue.next() {
            let turn = Turn { turns: self.clone(), account };
            refused.extend(admit.send(turn).err());
        }
        drop(queue);
        drop(refused);
    }

    /// A queue is sound whatever the thread that held it last did.
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    /// Takes the turn of whoever is next, if there is one to take.
    fn next(&mut self) -> Option<(String, oneshot::Sender<Turn>)> {
        if self.taken.values().sum::<usize>() >= AT_ONCE {
            return None;
        }
        let may = |account: &str| self.taken.get(account).copied().unwrap_or(0) < AT_ONCE_EACH;
        let place = self.waiting.iter().position(|(account, _)| may(account))?;
        let (account, mut line) = self.waiting.remove(place)?;
        let admit = line.pop_front()?;
        if !line.is_empty() {
            self.waiting.push_back((account.clone(), line));
        }
        *self.taken.entry(account.clone()).or_default() += 1;
        Some((account, admit))
    }
}

/// What bodies that were not looked at yet hold, together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bodies {
    held: Arc<Mutex<BTreeMap<String, usize>>>,
}

/// What one body holds, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct HeldBody {
    bodies: Bodies,
    account: String,
    bytes: usize,
}

impl Bodies {
    /// A body of which nothing is here yet.
    pub(crate) fn begin(&self, account: &str) -> HeldBody {
        HeldBody { bodies: self.clone(), account: account.to_owned(), bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HeldBody {
    /// Takes room for more bytes. No account takes more than half of it.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), PreviewError> {
        let mut held = self.bodies.lock();
        let all: usize = held.values().sum();
        let own = held.get(&self.account).copied().unwrap_or(0);
        if all + bytes > WAITING_BYTES || own + bytes > WAITING_BYTES / 2 {
            return Err(PreviewError::Busy);
        }
        held.insert(self.account.clone(), own + bytes);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for HeldBody {
    fn drop(&mut self) {
        let mut held = self.bodies.lock();
        let left = held.get(&self.account).copied().unwrap_or(0).saturating_sub(self.bytes);
        match left {
            0 => held.remove(&self.account),
            left => held.insert(self.account.clone(), left),
        };
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    /// Who has been let in.
    fn admitted(asked: &mut oneshot::Receiver<Turn>) -> Option<Turn> {
        asked.try_recv().ok()
    }

    #[test]
    fn an_account_that_asks_for_many_keeps_no_other_waiting() {
        let turns = Turns::default();
        let mut many: Vec<_> = (0..10).map(|_| turns.ask("a").unwrap()).collect();
        let mut own: Vec<_> = many.iter_mut().filter_map(admitted).collect();
        assert_eq!(own.len(), AT_ONCE_EACH);
        let mut other = turns.ask("b").unwrap();
        let first = admitted(&mut other).unwrap();
        let mut third = turns.ask("c").unwrap();
        let second = admitted(&mut third).unwrap();
        // All turns are taken; the next goes to whoever did not have one, though others wait longer.
        let mut fourth = turns.ask("d").unwrap();
        assert!(admitted(&mut fourth).is_none());
        drop(first);
        assert!(admitted(&mut fourth).is_some_and(|turn| turn.account == "d"));
        drop((second, own.pop()));
        // Kept while they are counted: a turn that ends lets the next one in.
        let next: Vec<_> = many.iter_mut().filter_map(admitted).collect();
        assert_eq!(next.len(), 1, "and then those who waited");
    }

    #[test]
    fn who_went_away_holds_no_turn_and_who_asks_too_often_is_told() {
        let turns = Turns::default();
        let _taken: Vec<_> = (0..AT_ONCE_EACH).map(|_| turns.ask("a").unwrap()).collect();
        let waiting: Vec<_> = (0..WAITING_EACH).map(|_| turns.ask("a").unwrap()).collect();
        assert!(matches!(turns.ask("a"), Err(PreviewError::Busy)));
        drop(waiting);
        drop(_taken);
        let mut again = turns.ask("a").unwrap();
        assert!(admitted(&mut again).is_some());
    }

    #[test]
    fn bodies_take_no_more_room_than_there_is_and_give_it_back() {
        let bodies = Bodies::default();
        let (mut one, mut other) = (bodies.begin("a"), bodies.begin("b"));
        one.take(WAITING_BYTES / 2).unwrap();
        assert!(one.take(1).is_err(), "no account takes more than half");
        other.take(WAITING_BYTES / 2).unwrap();
        let mut third = bodies.begin("c");
        assert!(third.take(1).is_err());
        drop(one);
        third.take(1).unwrap();
        drop((third, other));
        assert!(bodies.lock().is_empty());
    }
}
