//! The server as a process of its own, with real git repositories and REST.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::result_large_err, reason = "a refusal carries all that the server said")]

mod api;
mod fleet;
mod installation;
mod receiver;

mod addresses;
mod archives;
mod backups;
mod batches;
mod checkpoints;
mod conflicts;
mod connections;
mod contents;
mod crashes;
mod delivery;
mod demo;
mod fairness;
mod forge;
mod gate;
mod hostile;
mod http2;
mod keys;
mod metrics;
mod moving;
mod notifications;
mod plans;
mod previews;
mod proposals;
mod pull_requests;
mod reasons;
mod replicas;
mod sharing;
mod shutdown;
mod stale;
mod tls;
#[cfg(feature = "otlp")]
mod traces;
mod tutorial;
mod vault;
