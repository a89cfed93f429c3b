//! Notifications: which events an alert tells, how each provider words them, when they are sent, and sending them.
//!
//! Everything but `send` is pure: it gets values and returns values. Names and messages come from git and from people and
//! are hostile: no text of theirs is markup, a mention, a header or a link anywhere, and everything has a bounded length.
//! Nothing here reads events, keeps deliveries or decides when to look: that is the server's loop.

mod matching;
mod message;
mod render;
mod sanitize;
mod schedule;
mod send;

pub use matching::alert_matches;
pub use message::{AlertEvent, MessageState, NotificationMessage};
pub use render::{Mail, Payload, render, signature};
pub use schedule::{
    DEDUPLICATION_WINDOW, GIVE_UP_AFTER, MAX_MESSAGES_PER_WINDOW, ProviderRate, RATE_WINDOW, RateDecision,
    group_key, next_attempt,
};
pub use send::{
    CredentialFields, NotificationSender, OutgoingMessage, PlaintextPolicy, SendError, SendOutcome,
    SendTarget,
};
