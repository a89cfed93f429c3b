//! What time it is, for everything that is stored or decided by it. Timers count by themselves, and sign-in over OpenID
//! Connect asks the system itself: its library for tokens does.

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
