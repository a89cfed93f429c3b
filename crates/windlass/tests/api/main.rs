//! The guarantees of the HTTP API, tested over real connections: one file each.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod approvers;
mod authorization;
mod contract;
mod credentials_hosts;
mod endings;
mod errors;
mod events;
mod export_secrets;
mod forge;
mod gate;
mod gate_people;
mod harness;
mod invitations;
mod isolation;
mod lists;
mod mcp;
mod privilege;
mod proxies;
mod recovery;
mod repetition;
mod resources;
mod restraints;
mod reviewing;
mod secrecy;
mod sign_in;
mod signing;
mod storm;
mod streams;
mod surroundings;
mod throttling;
mod versions;
mod webhook_limits;
mod webhooks;
