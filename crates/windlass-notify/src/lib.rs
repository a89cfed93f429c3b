//! Notifications: which events an alert tells, how each provider words them, when they are sent, and sending them.
//!
//! Everything but `send` is pure: it gets values and returns values. Names and messages come from git and from people and
//! are hostile: no text of theirs is markup, a mention, a header or a link anywhere, and everything has a bounded length.
//! Nothing here reads events, keeps deliveries or decides when to look: that is the server's loop.

mod clean;
mod matching;
mod message;
mod pace;
mod render;
mod send;

pub use matching::matches;
pub use message::{Happening, Message, State};
pub use pace::{Admission, GIVE_UP_AFTER, Pace, RATE, RATE_WINDOW, REPEATS_WITHIN, group_key, next_attempt};
pub use render::{Mail, Payload, render, signature};
pub use send::{Fields, Outcome, Plain, SendError, Sender, Target};
