//! Reporting runs to forges: what they show, and how Windlass connects to them.
//!
//! Windlass stores each report as a row before it sends a request: `outbox` writes it, `send` sends it, and the loop in
//! `loops/forge.rs` calls both. No sync and no apply waits for a forge or fails because a forge fails.

pub mod decide;
pub mod gitea;
pub mod outbox;
pub mod preview_report;
pub mod problem;
pub mod send;
pub mod status;
pub mod target;
