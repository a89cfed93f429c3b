//! Telling forges about runs: what they shall show, and how they are reached.
//!
//! What a forge shall show is a row before it is a request: `outbox` says it, `send` sends it, and the loop in
//! `loops/forge.rs` wakes both. Nothing waits for a forge, and nothing fails because one does.

pub mod decide;
pub mod gitea;
pub mod outbox;
pub mod preview_report;
pub mod problem;
pub mod send;
pub mod status;
pub mod target;
