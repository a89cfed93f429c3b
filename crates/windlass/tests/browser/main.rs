//! The web app in a real browser: one file for each area.
//!
//! Every page of the page table is visited, so that a new page is covered if it is in the table and linked somewhere.
//! Nothing sleeps: a test waits for what it expects to see.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../api/harness.rs"]
#[allow(dead_code, reason = "the API's tests use more of it")]
mod harness;
#[path = "../api/reported_node.rs"]
mod reported_node;
#[path = "../api/rolling_fleet.rs"]
#[allow(dead_code, reason = "the API's tests use more of it")]
mod rolling_fleet;

mod accessibility;
mod decisions;
mod enrolment;
mod fleet;
mod layout;
mod live;
mod registering;
mod rollouts;
mod screenshots;
mod seed;
mod sign_in;
mod visits;
mod window;
