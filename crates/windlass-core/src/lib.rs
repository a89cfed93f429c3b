//! The pure core of Windlass: fleet.yaml in, an explained plan out.
//!
//! Data flows in one direction; each arrow is one function from one named type to the next:
//!
//! ```text
//! bytes ─manifest::read_file→ FileManifest ─manifest::assemble→ Desired ─diff::compare→ Comparison ─plan::build→ Plan
//! ```
//!
//! Nothing here waits, reads a file, reads the clock or draws a random number: the same input gives the same bytes.
//! Mistakes of users are collected as [`diagnostic::Diagnostic`]s, all of them, with their place.

pub mod accepted;
pub mod access;
pub mod account;
pub mod address_guard;
pub mod adopt;
pub mod agent;
pub mod allocate;
pub mod apply;
pub mod assign;
pub mod audit;
pub mod blocked_by;
pub mod catalogue;
pub mod code;
pub mod conflict;
pub mod content;
pub mod credential_hosts;
pub mod delivery;
pub mod desired;
pub mod diagnostic;
pub mod diff;
pub mod digest;
pub mod display;
pub mod drift;
pub mod enrolment;
pub mod event;
pub mod explain;
pub mod export;
pub mod fairness;
pub mod forge;
pub mod gate;
mod graph;
pub mod host;
pub mod id;
pub mod inbound;
mod known;
pub mod line_diff;
pub mod manifest;
pub mod observed;
mod origin;
pub mod plan;
pub mod preview;
pub mod proposal;
pub mod quarantine;
mod quote;
pub mod redacted;
pub mod reference;
pub mod report;
pub mod repository;
mod resolve_pins;
pub mod resource;
pub mod resource_finding;
pub mod rollout;
pub mod run;
pub mod run_status;
pub mod schema;
pub mod secret;
pub mod shape;
pub mod states;
pub mod target_assignment;
pub mod time;
pub mod value;
pub mod yaml;
