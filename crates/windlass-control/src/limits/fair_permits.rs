//! Turns for work that costs much: few at once, and fairly between accounts.
//!
//! No account has more than half of the turns, and those who wait are let in account by account: whoever asks for much
//! waits for themselves. Whoever asks over HTTP is told to come back after a while; the server's own work waits as long
//! as it takes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_core::id::AccountId;

/// Work at the same time.
const MAX_CONCURRENT: usize = 4;

/// That of one account.
const MAX_CONCURRENT_PER_ACCOUNT: usize = 2;

/// That of one account that may wait.
const MAX_WAITING_PER_ACCOUNT: usize = 16;

/// How long one waits for its turn before whoever asked is told to come back.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// As much as may be done at a time is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is busy")]
pub struct NoPermit;

/// Turns to do one kind of work.
#[derive(Clone, Debug, Default)]
pub struct FairPermits {
    queue: Arc<Mutex<PermitQueue>>,
}

#[derive(Debug, Default)]
struct PermitQueue {
    /// Turns that are taken, by account.
    taken: BTreeMap<AccountId, usize>,
    /// Who waits, by account. The account that was let in last stands last.
    waiting: VecDeque<(AccountId, VecDeque<oneshot::Sender<FairPermit>>)>,
}

/// A turn, which ends when it is dropped.
#[derive(Debug)]
pub struct FairPermit {
    turns: FairPermits,
    account: AccountId,
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.turns.end(&self.account);
    }
}

impl FairPermits {
    /// A turn for an account, for work that waits as long as it takes. How much of it there is, is limited where it comes
    /// from.
    pub(crate) async fn wait(&self, account: &AccountId) -> FairPermit {
        let admitted = self.enqueue(account);
        admitted.await.expect("who stands in line is let in, or keeps standing there")
    }

    /// A turn for an account, for someone who waits for an answer.
    pub async fn take(&self, account: &AccountId) -> Result<FairPermit, NoPermit> {
        let admitted = self.ask(account)?;
        match tokio::time::timeout(MAX_WAIT, admitted).await {
            Ok(Ok(turn)) => Ok(turn),
            Ok(Err(_)) | Err(_) => Err(NoPermit),
        }
    }

    /// Stands in line, unless the account's is too long.
    fn ask(&self, account: &AccountId) -> Result<oneshot::Receiver<FairPermit>, NoPermit> {
        let mut queue = self.lock();
        if let Some((_, line)) = queue.waiting.iter_mut().find(|(waiting, _)| waiting == account) {
            line.retain(|admit| !admit.is_closed());
            if line.len() >= MAX_WAITING_PER_ACCOUNT {
                return Err(NoPermit);
            }
        }
        drop(queue);
        Ok(self.enqueue(account))
    }

    fn enqueue(&self, account: &AccountId) -> oneshot::Receiver<FairPermit> {
        let (admit, admitted) = oneshot::channel();
        let mut queue = self.lock();
        match queue.waiting.iter_mut().find(|(waiting, _)| waiting == account) {
            Some((_, line)) => line.push_back(admit),
            None => queue.waiting.push_back((account.clone(), VecDeque::from([admit]))),
        }
        self.admit(queue);
        admitted
    }

    fn end(&self, account: &AccountId) {
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
    fn admit(&self, mut queue: MutexGuard<'_, PermitQueue>) {
        // Someone who went away meanwhile gives the turn back, which needs the queue.
        let mut refused = Vec::new();
        while let Some((account, admit)) = queue.next() {
            let turn = FairPermit { turns: self.clone(), account };
            refused.extend(admit.send(turn).err());
        }
        drop(queue);
        drop(refused);
    }

    /// A queue is sound whatever the thread that held it last did.
    fn lock(&self) -> MutexGuard<'_, PermitQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PermitQueue {
    /// Takes the turn of whoever is next, if there is one to take.
    fn next(&mut self) -> Option<(AccountId, oneshot::Sender<FairPermit>)> {
        if self.taken.values().sum::<usize>() >= MAX_CONCURRENT {
            return None;
        }
        let may =
            |account: &AccountId| self.taken.get(account).copied().unwrap_or(0) < MAX_CONCURRENT_PER_ACCOUNT;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
    use super::*;

    fn account(id: &str) -> AccountId {
        AccountId::new(id)
    }

    /// Who has been let in.
    fn admitted(asked: &mut oneshot::Receiver<FairPermit>) -> Option<FairPermit> {
        asked.try_recv().ok()
    }

    #[test]
    fn an_account_that_asks_for_many_keeps_no_other_waiting() {
        let turns = FairPermits::default();
        let mut many: Vec<_> = (0..10).map(|_| turns.ask(&account("a")).unwrap()).collect();
        let mut own: Vec<_> = many.iter_mut().filter_map(admitted).collect();
        assert_eq!(own.len(), MAX_CONCURRENT_PER_ACCOUNT);
        let mut other = turns.ask(&account("b")).unwrap();
        let first = admitted(&mut other).unwrap();
        let mut third = turns.ask(&account("c")).unwrap();
        let second = admitted(&mut third).unwrap();
        // All turns are taken; the next goes to whoever did not have one, though others wait longer.
        let mut fourth = turns.ask(&account("d")).unwrap();
        assert!(admitted(&mut fourth).is_none());
        drop(first);
        assert!(admitted(&mut fourth).is_some_and(|turn| turn.account == account("d")));
        drop((second, own.pop()));
        // Kept while they are counted: a turn that ends lets the next one in.
        let next: Vec<_> = many.iter_mut().filter_map(admitted).collect();
        assert_eq!(next.len(), 1, "and then those who waited");
    }

    #[tokio::test]
    async fn work_of_the_server_waits_as_long_as_it_takes_and_as_fairly() {
        let turns = FairPermits::default();
        let own: Vec<_> =
            (0..MAX_CONCURRENT_PER_ACCOUNT).map(|_| turns.ask(&account("a")).unwrap()).collect();
        let mut more: Vec<_> =
            (0..MAX_WAITING_PER_ACCOUNT * 2).map(|_| turns.enqueue(&account("a"))).collect();
        assert!(more.iter_mut().all(|asked| admitted(asked).is_none()), "an account has half of the turns");
        let other = turns.wait(&account("b")).await;
        assert_eq!(other.account, account("b"), "and keeps no other waiting");
        drop(own);
        assert_eq!(
            more.iter_mut().filter_map(admitted).count(),
            more.len(),
            "and all of them come to their turn"
        );
    }

    #[test]
    fn who_went_away_holds_no_turn_and_who_asks_too_often_is_told() {
        let turns = FairPermits::default();
        let _taken: Vec<_> =
            (0..MAX_CONCURRENT_PER_ACCOUNT).map(|_| turns.ask(&account("a")).unwrap()).collect();
        let waiting: Vec<_> =
            (0..MAX_WAITING_PER_ACCOUNT).map(|_| turns.ask(&account("a")).unwrap()).collect();
        assert!(matches!(turns.ask(&account("a")), Err(NoPermit)));
        drop(waiting);
        drop(_taken);
        let mut again = turns.ask(&account("a")).unwrap();
        assert!(admitted(&mut again).is_some());
    }
}
