//! The control plane without HTTP: use cases, loops, and connections to other systems.
//!
//! `flow` processes a commit, from the sync to the apply, and detects drift. `ask` has the use cases that people,
//! tokens and tools request, one file each. `outside` connects to forges and notification providers, and handles
//! webhooks and previews of pull requests. `loops` work without a request: load, decide, save. HTTP, pages and tools
//! are in `windlass-server`, a thin layer over this crate.

pub mod account_state;
pub mod admission;
pub mod agents;
pub mod archive;
pub mod ask;
pub mod caller;
pub mod checkpoint;
pub mod clock;
pub mod comparison;
pub mod config;
pub mod content_differences;
pub mod control;
pub mod crash;
pub mod credential;
pub mod delivery_cache;
pub mod email;
pub mod failure;
pub mod flow;
pub mod grouped_reads;
pub mod idempotency;
pub mod keys;
pub mod limits;
pub mod loops;
pub mod metrics;
pub mod outside;
pub mod pace;
pub mod page;
pub mod password;
pub mod payload;
pub mod record;
pub mod refusal;
pub mod reports;
pub mod secret;
pub mod spans;
pub mod work;
