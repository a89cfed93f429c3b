//! The agent: makes the accepted state of a node true on its host, keeps it true, and reports what it sees.
//!
//! ```text
//! server ─stream→ connection ─generation→ worker ─assignment, blobs→ fetch, cache
//!                                           │
//!                                           ▼
//!                   cycle: verify → accept on disk → apply → observe, correct → report → server
//! ```
//!
//! [`Agent`] runs all of it. [`target`] applies and observes a state that is composed already; it opens no connection. The
//! network is in `connection` and `fetch`, everything on the disk and on the host in `cycle`, and `worker` decides when
//! each of them is due. Nothing is global: several agents in one process do not meet.

mod agent;
mod cache;
mod confirm;
mod connection;
mod cycle;
mod end;
mod enroll;
mod error;
mod fetch;
mod identity;
mod offline;
mod options;
mod report;
pub mod simulated;
mod state;
mod status;
mod surroundings;
pub mod target;
mod unit;
mod upgrade;
mod watch;
mod worker;

pub use agent::Agent;
pub use connection::{BadServerAddress, KeyError, RequestError};
pub use end::{AgentEnd, OnceResult};
pub use enroll::{Enrolment, enroll};
pub use error::AgentError;
pub use offline::{OfflineEffects, OfflineInput, apply_offline};
pub use options::{AgentOptions, AgentTarget, RunLength};
pub use state::StateError;
pub use status::{AgentStatus, self_check, status};
pub use unit::systemd_unit;

#[cfg(test)]
mod tests;
