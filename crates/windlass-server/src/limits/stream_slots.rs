//! Limits how many event streams may be open: each keeps a connection open.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_control::metrics;
use windlass_core::id::UserId;

/// How many streams one person may have: one for each open page, and some for scripts.
const PER_PERSON: usize = 32;

/// The slots for event streams.
#[derive(Clone, Debug)]
pub(crate) struct EventStreamSlots {
    max: usize,
    open: Arc<Mutex<BTreeMap<UserId, usize>>>,
}

/// Why there is no slot for another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooManyStreams {
    /// The person has too many.
    OfPerson,
    /// The server has too many.
    InAll,
}

/// A slot, which is released when it is dropped.
#[derive(Debug)]
pub(crate) struct EventStreamSlot {
    slots: EventStreamSlots,
    user_id: UserId,
}

impl EventStreamSlots {
    pub(crate) fn new(max: usize) -> EventStreamSlots {
        EventStreamSlots { max, open: Arc::default() }
    }

    /// Takes a slot for a person.
    pub(crate) fn take(&self, user_id: &UserId) -> Result<EventStreamSlot, TooManyStreams> {
        // Consistent even if a thread panicked while it held the lock.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = open.values().sum();
        let own = open.get(user_id).copied().unwrap_or_default();
        if own >= PER_PERSON {
            return Err(TooManyStreams::OfPerson);
        }
        if total >= self.max {
            return Err(TooManyStreams::InAll);
        }
        open.insert(user_id.clone(), own + 1);
        metrics::event_streams(total + 1);
        Ok(EventStreamSlot { slots: self.clone(), user_id: user_id.clone() })
    }
}

impl Drop for EventStreamSlot {
    fn drop(&mut self) {
        let mut open = self.slots.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.user_id) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.user_id);
            }
        }
        metrics::event_streams(open.values().sum());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_limited_per_person_and_in_total_and_are_released() {
        let slots = EventStreamSlots::new(PER_PERSON + 1);
        let own: Vec<EventStreamSlot> =
            (0..PER_PERSON).map(|_| slots.take(&UserId::new("ada")).expect("room")).collect();
        assert!(slots.take(&UserId::new("ada")).is_err());
        let other = slots.take(&UserId::new("bob")).expect("room for somebody else");
        assert!(slots.take(&UserId::new("eve")).is_err(), "full");
        drop(other);
        assert!(slots.take(&UserId::new("eve")).is_ok());
        drop(own);
        assert!(slots.open.lock().expect("nobody panicked").is_empty());
    }
}
