//! The agent's cycle without the network: accepting, applying, observing, correcting, and taking back.
//!
//! [`Engine`] does all of it, one call after the other, on a thread that may wait for the disk and for commands. What must
//! survive a crash is on the disk before the next step begins: [`held`] says what the node shall be and how far the agent
//! is with it.

mod apply;
mod changes;
mod compose;
mod engine;
mod held;
mod look;
mod offer;
mod reports;

pub(crate) use apply::ApplyStart;
pub(crate) use compose::WantedBlob;
pub(crate) use engine::{Engine, EngineOptions, OUTBOX};
pub(crate) use held::{ASSIGNMENT, Held};
pub(crate) use offer::{Candidate, Offer};

#[cfg(test)]
mod held_tests;
