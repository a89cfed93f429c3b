//! The control plane without HTTP: use cases, loops, and the worlds outside.
//!
//! `flow` is what happens to a commit, from the sync to the apply and the drift that follows. `ask` is what people, tokens
//! and tools ask for, one file per use case. `outside` speaks with forges, receivers of notifications and pull requests.
//! `loops` do what nobody asks for: load, decide, save. Whoever asks through HTTP, pages or tools comes through
//! `windlass-server`, which is thin over this.

pub mod account_state;
pub mod admission;
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
pub mod email;
pub mod failure;
pub mod flow;
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
pub mod secret;
pub mod spans;
pub mod work;
