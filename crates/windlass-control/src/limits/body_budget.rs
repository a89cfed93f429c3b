//! What the bodies of previews that were not looked at yet may hold.
//!
//! A turn is taken after the body is here, so that whoever sends slowly holds nothing but what was sent; this bounds that.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::fair_permits::NoPermit;
use windlass_core::id::AccountId;

/// Bytes of all bodies that were sent and not looked at yet.
const WAITING_BYTES: usize = 256 << 20;

/// What bodies that were not looked at yet hold, together.
#[derive(Clone, Debug, Default)]
pub struct BodyBudget {
    held: Arc<Mutex<BTreeMap<AccountId, usize>>>,
}

/// What one body holds, given back when it is dropped.
#[derive(Debug)]
pub struct BodyReservation {
    bodies: BodyBudget,
    account: AccountId,
    bytes: usize,
}

impl BodyBudget {
    /// A body of which nothing is here yet.
    pub fn begin(&self, account: &AccountId) -> BodyReservation {
        BodyReservation { bodies: self.clone(), account: account.clone(), bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<AccountId, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BodyReservation {
    /// Takes room for more bytes. No account takes more than half of it.
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
    fn bodies_take_no_more_room_than_there_is_and_give_it_back() {
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
