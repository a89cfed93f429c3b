//! Telling forges about runs: what they shall show, and how they are reached.
//!
//! What a forge shall show is a row before it is a request: `outbox` says it, `send` sends it, and the loop in
//! `loops/forge.rs` wakes both. Nothing waits for a forge, and nothing fails because one does.

mod decide;
mod foreseen;
mod gitea;
mod outbox;
mod send;
mod status;
mod trouble;
mod way;

pub(crate) use gitea::connect_gitea;

pub(crate) use outbox::{Foreseen, say_foreseen, say_statuses};
pub(crate) use send::{REPORTING, send_due};
pub(crate) use trouble::Trouble;
pub(crate) use way::{KINDS, Way, examine};
