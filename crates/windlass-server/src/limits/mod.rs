//! What clients may hold: turns to have a password verified, and streams of events.

pub(crate) mod password_permits;
pub(crate) mod stream_slots;
