//! What clients may hold: turns to have a password verified, and streams of events.

pub(crate) mod password_turns;
pub(crate) mod stream_places;
