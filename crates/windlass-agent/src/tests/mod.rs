//! The agent against a server in memory: enrolment, applying, refusing, being cut off, and crashing at every step.
//!
//! Time is paused: it passes only while agent and server both wait, so a minute of retries takes none.

mod applying;
mod authority;
mod away;
mod confirmation;
mod drifting;
mod enrolment;
mod faults;
mod merged;
mod refusals;
mod server;
mod simulated;
mod upgrades;
mod world;
