//! The current time, for everything that stores it or decides by it. Timers do not use it, and sign-in over OpenID
//! Connect reads the system clock directly, because its token library does.

use std::time::{SystemTime, UNIX_EPOCH};

use windlass_core::time::Timestamp;

/// The current time, for stored timestamps. Code that waits uses timers, which do not jump with the clock.
pub fn now() -> Timestamp {
    let millis = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |millis| -millis),
    };
    Timestamp::from_millis(millis)
}
