//! Work that may kill the server: done alone once a server died of it, and not at all after the second time.
//!
//! What decides is [`windlass_core::quarantine`]. Here is only who works beside whom in this process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};
use windlass_core::quarantine::{Quarantine, Standing};
use windlass_core::time::Timestamp;
use windlass_store::RunError;

use crate::sync::run_error;

/// The code of everything that is not done because of a quarantine.
pub(crate) const QUARANTINED: &str = "quarantined";

/// Work that is under way in this process.
#[derive(Clone, Debug, Default)]
pub(crate) struct Company {
    room: Arc<RwLock<()>>,
    /// What did not come to its end and did not kill this process either.
    survived: Arc<Mutex<BTreeSet<String>>>,
}

/// Leave to work, until it is dropped.
#[derive(Debug)]
pub(crate) enum Leave {
    /// Beside others.
    Beside { _guard: OwnedRwLockReadGuard<()> },
    /// With nothing beside it.
    Alone { _guard: OwnedRwLockWriteGuard<()> },
}

impl Company {
    /// Waits until work of such a standing may begin.
    pub(crate) async fn join(&self, standing: Standing) -> Leave {
        let room = Arc::clone(&self.room);
        match standing {
            Standing::Trusted => Leave::Beside { _guard: room.read_owned().await },
            Standing::Suspected | Standing::Quarantined => Leave::Alone { _guard: room.write_owned().await },
        }
    }

    /// Notes that something was given up without harm. Also where the database cannot be told.
    pub(crate) fn survived(&self, id: &str) {
        self.lock().insert(id.to_owned());
    }

    /// Whether the last try of something ended without harm, though the database may say otherwise. Asked once for each.
    pub(crate) fn take_survivor(&self, id: &str) -> bool {
        self.lock().remove(id)
    }

    /// A set is sound whatever the thread that held it last did.
    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.survived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The reason that is kept and shown.
pub(crate) fn quarantine(doing: &str, now: Timestamp) -> Quarantine {
    let reason = format!("the server died twice while {doing}, the second time with nothing beside it");
    Quarantine { reason, since_ms: now.as_millis() }
}

/// Why something is not done.
pub(crate) fn refusal(quarantine: &Quarantine) -> RunError {
    let help = "look at who pushed what to the repository; once that is gone, `windlass repo release` lets it be \
                tried again";
    run_error(QUARANTINED, format!("quarantined: {}", quarantine.reason), help)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_suspect_waits_for_the_others_and_they_for_it() {
        let company = Company::default();
        let beside = (company.join(Standing::Trusted).await, company.join(Standing::Trusted).await);
        let waiting = tokio::spawn({
            let company = company.clone();
            async move { company.join(Standing::Suspected).await }
        });
        assert!(!waiting.is_finished());
        drop(beside);
        let alone = waiting.await.expect("it is let in");
        assert!(company.room.try_read().is_err());
        drop(alone);
        assert!(matches!(company.join(Standing::Trusted).await, Leave::Beside { .. }));
    }

    #[test]
    fn a_survivor_is_known_once() {
        let company = Company::default();
        company.survived("a");
        assert!(company.take_survivor("a"));
        assert!(!company.take_survivor("a"));
    }
}
