//! Limits of what clients may use: permits to verify a password, and slots for event streams.

pub(crate) mod password_permits;
pub(crate) mod stream_slots;
