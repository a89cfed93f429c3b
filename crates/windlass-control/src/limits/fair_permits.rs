//! Permits for expensive work: few at a time, shared fairly between accounts.
//!
//! An account holds at most half of the permits, and waiting accounts take turns, so that an account with many requests delays
//! only itself. An HTTP request that waits too long is rejected as busy; the server's own work waits without a limit.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use windlass_core::id::AccountId;

/// The most permits in use at a time.
const MAX_CONCURRENT: usize = 4;

/// The most permits that one account uses at a time.
const MAX_CONCURRENT_PER_ACCOUNT: usize = 2;

/// The most requests of one account that may wait.
const MAX_WAITING_PER_ACCOUNT: usize = 16;

/// How long a request waits for a permit before it is rejected.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// No permit was free in time, the account's queue is full, or the body budget is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the server is busy")]
pub struct NoPermit;

/// Permits for one kind of work.
#[derive(Clone, Debug, Default)]
pub struct FairPermits {
    queue: Arc<Mutex<PermitQueue>>,
}

#[derive(Debug, Default)]
struct PermitQueue {
    /// Permits in use, by account.
    taken: BTreeMap<AccountId, usize>,
    /// Waiting requests, by account. The account that got the last permit is at the end.
    waiting: VecDeque<(AccountId, VecDeque<oneshot::Sender<FairPermit>>)>,
}

/// A permit, released when it is dropped.
#[derive(Debug)]
pub struct FairPermit {
    permits: FairPermits,
    account: AccountId,
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.permits.end(&self.account);
    }
}

impl FairPermits {
    /// Waits for a permit without a limit, for the server's own work. The callers limit how much of that there is.
    pub(crate) async fn wait(&self, account: &AccountId) -> FairPermit {
        let admitted = self.enqueue(account);
        admitted.await.expect("the sender lives as long as the queue")
    }

    /// Waits up to `MAX_WAIT` for a permit, for a request that needs a response.
    pub async fn take(&self, account: &AccountId) -> Result<FairPermit, NoPermit> {
        let admitted = self.ask(account)?;
        match tokio::time::timeout(MAX_WAIT, admitted).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) | Err(_) => Err(NoPermit),
        }
    }

    /// Adds a request to the account's queue, unless the queue is full.
    fn ask(&self, account: &AccountId) -> Result<oneshot::Receiver<FairPermit>, NoPermit> {
        let mut queue = self.lock();
        if let Some((_, requests)) = queue.waiting.iter_mut().find(|(waiting, _)| waiting == account) {
            requests.retain(|admit| !admit.is_closed());
            if requests.len() >= MAX_WAITING_PER_ACCOUNT {
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
            Some((_, requests)) => requests.push_back(admit),
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

    /// Gives the free permits to waiting accounts in turn.
    fn admit(&self, mut queue: MutexGuard<'_, PermitQueue>) {
        // A request that was cancelled meanwhile returns its permit, which must be dropped after the queue is unlocked.
        let mut refused = Vec::new();
        while let Some((account, admit)) = queue.next() {
            let permit = FairPermit { permits: self.clone(), account };
            refused.extend(admit.send(permit).err());
        }
        drop(queue);
        drop(refused);
    }

    /// Ignores poisoning: the queue is valid even if a thread panicked while it held the lock.
    fn lock(&self) -> MutexGuard<'_, PermitQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PermitQueue {
    /// Takes a permit for the next waiting request, if both exist.
    fn next(&mut self) -> Option<(AccountId, oneshot::Sender<FairPermit>)> {
        if self.taken.values().sum::<usize>() >= MAX_CONCURRENT {
            return None;
        }
        let may =
            |account: &AccountId| self.taken.get(account).copied().unwrap_or(0) < MAX_CONCURRENT_PER_ACCOUNT;
        let place = self.waiting.iter().position(|(account, _)| may(account))?;
        let (account, mut requests) = self.waiting.remove(place)?;
        let admit = requests.pop_front()?;
        if !requests.is_empty() {
            self.waiting.push_back((account.clone(), requests));
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

    /// The permit of a request, if it has one.
    fn admitted(asked: &mut oneshot::Receiver<FairPermit>) -> Option<FairPermit> {
        asked.try_recv().ok()
    }

    #[test]
    fn an_account_with_many_requests_delays_no_other_account() {
        let permits = FairPermits::default();
        let mut many: Vec<_> = (0..10).map(|_| permits.ask(&account("a")).unwrap()).collect();
        let mut own: Vec<_> = many.iter_mut().filter_map(admitted).collect();
        assert_eq!(own.len(), MAX_CONCURRENT_PER_ACCOUNT);
        let mut other = permits.ask(&account("b")).unwrap();
        let first = admitted(&mut other).unwrap();
        let mut third = permits.ask(&account("c")).unwrap();
        let second = admitted(&mut third).unwrap();
        // All permits are in use. The next one goes to an account that has none, although others have waited longer.
        let mut fourth = permits.ask(&account("d")).unwrap();
        assert!(admitted(&mut fourth).is_none());
        drop(first);
        assert!(admitted(&mut fourth).is_some_and(|permit| permit.account == account("d")));
        drop((second, own.pop()));
        // Collected before counting: dropping a permit would give it to the next request.
        let next: Vec<_> = many.iter_mut().filter_map(admitted).collect();
        assert_eq!(next.len(), 1, "and then those who waited");
    }

    #[tokio::test]
    async fn work_of_the_server_waits_without_a_limit_and_accounts_take_turns() {
        let permits = FairPermits::default();
        let own: Vec<_> =
            (0..MAX_CONCURRENT_PER_ACCOUNT).map(|_| permits.ask(&account("a")).unwrap()).collect();
        let mut more: Vec<_> =
            (0..MAX_WAITING_PER_ACCOUNT * 2).map(|_| permits.enqueue(&account("a"))).collect();
        assert!(more.iter_mut().all(|asked| admitted(asked).is_none()), "an account has half of the turns");
        let other = permits.wait(&account("b")).await;
        assert_eq!(other.account, account("b"), "and keeps no other waiting");
        drop(own);
        assert_eq!(
            more.iter_mut().filter_map(admitted).count(),
            more.len(),
            "and all of them come to their turn"
        );
    }

    #[test]
    fn a_cancelled_request_holds_no_permit_and_too_many_requests_are_rejected() {
        let permits = FairPermits::default();
        let _taken: Vec<_> =
            (0..MAX_CONCURRENT_PER_ACCOUNT).map(|_| permits.ask(&account("a")).unwrap()).collect();
        let waiting: Vec<_> =
            (0..MAX_WAITING_PER_ACCOUNT).map(|_| permits.ask(&account("a")).unwrap()).collect();
        assert!(matches!(permits.ask(&account("a")), Err(NoPermit)));
        drop(waiting);
        drop(_taken);
        let mut again = permits.ask(&account("a")).unwrap();
        assert!(admitted(&mut again).is_some());
    }
}
