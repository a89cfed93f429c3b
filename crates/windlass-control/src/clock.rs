//! The only place that asks what time it is.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::time::Timestamp;

/// Now. Stored moments come from here; waiting is done on timers that do not jump with the clock.
pub fn now() -> Timestamp {
    let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
    };
    Timestamp::from_millis(millis)
}
