//! The guarantees of the web app, tested over real connections as a browser would: one file each.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../api/agents/client.rs"]
#[allow(dead_code, reason = "the API's tests use more of it")]
mod agent;
#[path = "../api/harness.rs"]
#[allow(dead_code, reason = "the API's tests use more of it")]
mod harness;
#[path = "../api/reported_node.rs"]
mod reported_node;
#[path = "../api/rolling_fleet.rs"]
#[allow(dead_code, reason = "the API's tests use more of it")]
mod rolling_fleet;

mod authorization;
mod browser;
mod decisions;
mod drift;
mod enrolment;
mod events;
mod forged_id_tokens;
mod forms;
mod invitations;
mod module_versions;
mod nodes;
mod pages;
mod plans;
mod repositories;
mod resources;
mod rollouts;
mod runs;
mod session;
mod settings;
mod sso;
mod token_forger;
mod topology;
