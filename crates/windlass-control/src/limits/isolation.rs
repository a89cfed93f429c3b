//! Which work may run in parallel in this process: suspected work runs alone.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use windlass_core::quarantine::{CrashHistory, TrustLevel};

/// How long other work waits for work that runs alone. Work that takes longer continues in parallel, and its crashes still
/// count.
const ALONE_FOR: Duration = Duration::from_secs(60);

/// The work that runs in this process.
#[derive(Clone, Debug)]
pub(crate) struct WorkIsolation {
    room: Arc<RwLock<()>>,
    alone_for: Duration,
    /// Crash histories of work that ended without a crash, where the database may not have recorded the end.
    survived: Arc<Mutex<BTreeMap<String, CrashHistory>>>,
}

impl Default for WorkIsolation {
    fn default() -> WorkIsolation {
        WorkIsolation { room: Arc::default(), alone_for: ALONE_FOR, survived: Arc::default() }
    }
}

/// The permit to work, until the last copy is dropped. Every thread that reads content from outside holds a copy.
#[derive(Clone, Debug)]
pub(crate) struct WorkPermit {
    _guard: Arc<Mutex<IsolationGuard>>,
}

#[derive(Debug)]
enum IsolationGuard {
    /// In parallel with other work.
    Beside { _guard: OwnedRwLockReadGuard<()> },
    /// Alone.
    Alone(OwnedRwLockWriteGuard<()>),
    /// During the change from alone to in parallel.
    Changing,
}

impl IsolationGuard {
    /// Allows other work in parallel again.
    fn admit_others(&mut self) {
        if let IsolationGuard::Alone(guard) = std::mem::replace(self, IsolationGuard::Changing) {
            *self = IsolationGuard::Beside { _guard: guard.downgrade() };
        }
    }
}

impl WorkIsolation {
    /// Waits until work of this trust level may begin.
    pub(crate) async fn wait_for_permit(&self, trust_level: TrustLevel) -> WorkPermit {
        let room = Arc::clone(&self.room);
        let guard = match trust_level {
            TrustLevel::Trusted => IsolationGuard::Beside { _guard: room.read_owned().await },
            TrustLevel::Suspected | TrustLevel::Quarantined => {
                IsolationGuard::Alone(room.write_owned().await)
            }
        };
        let guard = Arc::new(Mutex::new(guard));
        if trust_level != TrustLevel::Trusted {
            let (guard, alone_for) = (Arc::downgrade(&guard), self.alone_for);
            tokio::spawn(async move {
                tokio::time::sleep(alone_for).await;
                if let Some(guard) = guard.upgrade() {
                    guard.lock().unwrap_or_else(PoisonError::into_inner).admit_others();
                }
            });
        }
        WorkPermit { _guard: guard }
    }

    /// Stores the crash history of work that ended without a crash, for when the database cannot record it.
    pub(crate) fn keep_unrecorded(&self, key: String, held: CrashHistory) {
        self.lock().insert(key, held);
    }

    /// Takes the crash history of work that ended without a crash, if the database may not have it. Returns each only once.
    pub(crate) fn take_unrecorded(&self, key: &str) -> Option<CrashHistory> {
        self.lock().remove(key)
    }

    /// Ignores poisoning: the map is valid even if a thread panicked while it held the lock.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, CrashHistory>> {
        self.survived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn suspected_work_waits_for_other_work_and_then_runs_alone() {
        let isolation = WorkIsolation::default();
        let beside = (
            isolation.wait_for_permit(TrustLevel::Trusted).await,
            isolation.wait_for_permit(TrustLevel::Trusted).await,
        );
        let waiting = tokio::spawn({
            let isolation = isolation.clone();
            async move { isolation.wait_for_permit(TrustLevel::Suspected).await }
        });
        assert!(!waiting.is_finished());
        drop(beside);
        let alone = waiting.await.expect("it is let in");
        assert!(isolation.room.try_read().is_err());
        let of_a_thread = alone.clone();
        drop(alone);
        assert!(isolation.room.try_read().is_err(), "until the last who works there is done");
        drop(of_a_thread);
        assert!(isolation.room.try_write().is_ok());
    }

    #[tokio::test]
    async fn no_work_waits_for_suspected_work_longer_than_the_limit() {
        let isolation = WorkIsolation { alone_for: Duration::from_millis(10), ..WorkIsolation::default() };
        let suspect = isolation.wait_for_permit(TrustLevel::Suspected).await;
        // Starts although the suspected work continues. Other suspected work still has to wait.
        let beside = isolation.wait_for_permit(TrustLevel::Trusted).await;
        drop(beside);
        assert!(isolation.room.try_write().is_err());
        drop(suspect);
        assert!(isolation.room.try_write().is_ok());
    }

    #[test]
    fn an_unrecorded_crash_history_is_returned_once() {
        let isolation = WorkIsolation::default();
        let held = CrashHistory { deaths: 1, tries_alone: 1 };
        isolation.keep_unrecorded("a".to_owned(), held);
        assert_eq!(isolation.take_unrecorded("a"), Some(held));
        assert_eq!(isolation.take_unrecorded("a"), None);
    }
}
