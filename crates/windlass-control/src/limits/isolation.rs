//! Who works beside whom in this process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use windlass_core::quarantine::{CrashHistory, TrustLevel};

/// How long others wait for work that is done alone. What takes longer goes on beside them, and is still counted.
const ALONE_FOR: Duration = Duration::from_secs(60);

/// Work that is under way in this process.
#[derive(Clone, Debug)]
pub(crate) struct WorkIsolation {
    room: Arc<RwLock<()>>,
    alone_for: Duration,
    /// What is held against work that did not kill this process, where the database may say otherwise.
    survived: Arc<Mutex<BTreeMap<String, CrashHistory>>>,
}

impl Default for WorkIsolation {
    fn default() -> WorkIsolation {
        WorkIsolation { room: Arc::default(), alone_for: ALONE_FOR, survived: Arc::default() }
    }
}

/// Leave to work, until the last copy is dropped. Every thread that reads what others made holds one.
#[derive(Clone, Debug)]
pub(crate) struct WorkPermit {
    _guard: Arc<Mutex<IsolationGuard>>,
}

#[derive(Debug)]
enum IsolationGuard {
    /// Beside others.
    Beside { _guard: OwnedRwLockReadGuard<()> },
    /// With nothing beside it.
    Alone(OwnedRwLockWriteGuard<()>),
    /// Between the two.
    Changing,
}

impl IsolationGuard {
    /// Lets others in again.
    fn admit_others(&mut self) {
        if let IsolationGuard::Alone(guard) = std::mem::replace(self, IsolationGuard::Changing) {
            *self = IsolationGuard::Beside { _guard: guard.downgrade() };
        }
    }
}

impl WorkIsolation {
    /// Waits until work of such a standing may begin.
    pub(crate) async fn join(&self, standing: TrustLevel) -> WorkPermit {
        let room = Arc::clone(&self.room);
        let guard = match standing {
            TrustLevel::Trusted => IsolationGuard::Beside { _guard: room.read_owned().await },
            TrustLevel::Suspected | TrustLevel::Quarantined => {
                IsolationGuard::Alone(room.write_owned().await)
            }
        };
        let guard = Arc::new(Mutex::new(guard));
        if standing != TrustLevel::Trusted {
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

    /// Notes that something did not kill this process, and what is held against it nevertheless. Also where the database
    /// cannot be told.
    pub(crate) fn note_survived(&self, key: String, held: CrashHistory) {
        self.lock().insert(key, held);
    }

    /// What is held against something that survived, though the database may say otherwise. Asked once for each.
    pub(crate) fn take_unrecorded(&self, key: &str) -> Option<CrashHistory> {
        self.lock().remove(key)
    }

    /// A map is sound whatever the thread that held it last did.
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, CrashHistory>> {
        self.survived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_suspect_waits_for_the_others_and_they_for_it() {
        let company = WorkIsolation::default();
        let beside = (company.join(TrustLevel::Trusted).await, company.join(TrustLevel::Trusted).await);
        let waiting = tokio::spawn({
            let company = company.clone();
            async move { company.join(TrustLevel::Suspected).await }
        });
        assert!(!waiting.is_finished());
        drop(beside);
        let alone = waiting.await.expect("it is let in");
        assert!(company.room.try_read().is_err());
        let of_a_thread = alone.clone();
        drop(alone);
        assert!(company.room.try_read().is_err(), "until the last who works there is done");
        drop(of_a_thread);
        assert!(company.room.try_write().is_ok());
    }

    #[tokio::test]
    async fn nobody_waits_longer_than_a_while_for_a_suspect() {
        let company = WorkIsolation { alone_for: Duration::from_millis(10), ..WorkIsolation::default() };
        let suspect = company.join(TrustLevel::Suspected).await;
        // Let in though the suspect goes on, which keeps other suspects out.
        let beside = company.join(TrustLevel::Trusted).await;
        drop(beside);
        assert!(company.room.try_write().is_err());
        drop(suspect);
        assert!(company.room.try_write().is_ok());
    }

    #[test]
    fn a_survivor_is_known_once() {
        let company = WorkIsolation::default();
        let held = CrashHistory { deaths: 1, tries_alone: 1 };
        company.note_survived("a".to_owned(), held);
        assert_eq!(company.take_unrecorded("a"), Some(held));
        assert_eq!(company.take_unrecorded("a"), None);
    }
}
