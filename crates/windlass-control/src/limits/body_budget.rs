//! How much memory the bodies of preview requests may use before they are processed.
//!
//! A request takes its permit after its body arrived, so that a slow sender holds no permit. This budget limits the memory
//! that such bodies use.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::fair_permits::NoPermit;
use windlass_core::id::AccountId;

/// The most bytes of all bodies that were received and not processed yet.
const WAITING_BYTES: usize = 256 << 20;

/// The bytes of bodies that were not processed yet, by account.
#[derive(Clone, Debug, Default)]
pub struct BodyBudget {
    held: Arc<Mutex<BTreeMap<AccountId, usize>>>,
}

/// The bytes that one body uses, released when it is dropped.
#[derive(Debug)]
pub struct BodyReservation {
    bodies: BodyBudget,
    account: AccountId,
    bytes: usize,
}

impl BodyBudget {
    /// A reservation for a body of which nothing was received yet.
    pub fn begin(&self, account: &AccountId) -> BodyReservation {
        BodyReservation { bodies: self.clone(), account: account.clone(), bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AccountId, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyReservation {
    /// Reserves more bytes. An account can reserve at most half of the budget.
    pub fn take(&mut self, bytes: usize) -> Result<(), NoPermit> {
        let mut held = self.bodies.lock();
        let all: usize = held.values().sum();
        let own = held.get(&self.account).copied().unwrap_or(0);
        if all + bytes > WAITING_BYTES || own + bytes > WAITING_BYTES / 2 {
            return Err(NoPermit);
        }
        held.insert(self.account.clone(), own + bytes);
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for BodyReservation {
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

    #[test]
    fn bodies_stay_within_the_budget_and_release_it_when_dropped() {
        let bodies = BodyBudget::default();
        let (mut one, mut other) = (bodies.begin(&AccountId::new("a")), bodies.begin(&AccountId::new("b")));
        one.take(WAITING_BYTES / 2).unwrap();
        assert!(one.take(1).is_err(), "no account takes more than half");
        other.take(WAITING_BYTES / 2).unwrap();
        let mut third = bodies.begin(&AccountId::new("c"));
        assert!(third.take(1).is_err());
        drop(one);
        third.take(1).unwrap();
        drop((third, other));
        assert!(bodies.lock().is_empty());
    }
}
