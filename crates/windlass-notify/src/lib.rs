//! Notifications: which events match an alert, how a message is rendered for each provider, when it is sent, and
//! sending it.
//!
//! Everything but `send` is pure. Names and messages come from git and from people and are untrusted: no provider may
//! interpret them as markup, a mention, a header or a link, and everything has a length limit. This crate does not read
//! events, store deliveries or schedule work; the server's loop does.

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
