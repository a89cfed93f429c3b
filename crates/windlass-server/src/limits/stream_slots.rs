//! How many streams of events may be open: each holds a connection for as long as someone listens.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use windlass_control::metrics;
use windlass_core::id::UserId;

/// Streams of one person: one for each page that is open, and some for scripts.
const PER_PERSON: usize = 32;

/// Room for streams of events.
#[derive(Clone, Debug)]
pub(crate) struct EventStreamSlots {
    most: usize,
    open: Arc<Mutex<BTreeMap<UserId, usize>>>,
}

/// Why there is no place for another stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooManyStreams {
    /// The person has too many.
    OfPerson,
    /// There are too many in all.
    InAll,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct EventStreamSlot {
    places: EventStreamSlots,
    user_id: UserId,
}

impl EventStreamSlots {
    pub(crate) fn new(most: usize) -> EventStreamSlots {
        EventStreamSlots { most, open: Arc::default() }
    }

    /// A place for a stream of someone.
    pub(crate) fn take(&self, user_id: &UserId) -> Result<EventStreamSlot, TooManyStreams> {
        // Counts are whole whatever the thread that held them last did.
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let total: usize = open.values().sum();
        let own = open.get(user_id).copied().unwrap_or_default();
        if own >= PER_PERSON {
            return Err(TooManyStreams::OfPerson);
        }
        if total >= self.most {
            return Err(TooManyStreams::InAll);
        }
        open.insert(user_id.clone(), own + 1);
        metrics::event_streams(total + 1);
        Ok(EventStreamSlot { places: self.clone(), user_id: user_id.clone() })
    }
}

impl Drop for EventStreamSlot {
    fn drop(&mut self) {
        let mut open = self.places.open.lock().unwrap_or_else(PoisonError::into_inner);
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
    fn places_are_limited_for_each_person_and_in_all_and_come_back() {
        let places = EventStreamSlots::new(PER_PERSON + 1);
        let own: Vec<EventStreamSlot> =
            (0..PER_PERSON).map(|_| places.take(&UserId::new("ada")).expect("room")).collect();
        assert!(places.take(&UserId::new("ada")).is_err());
        let other = places.take(&UserId::new("bob")).expect("room for somebody else");
        assert!(places.take(&UserId::new("eve")).is_err(), "full");
        drop(other);
        assert!(places.take(&UserId::new("eve")).is_ok());
        drop(own);
        assert!(places.open.lock().expect("nobody panicked").is_empty());
    }
}
