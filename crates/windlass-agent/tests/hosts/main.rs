//! The host target on real hosts: Debian with systemd, and without.
//!
//! The hosts run this test program too: [`runner`] is the agent there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod agent_host;
mod packages;
mod plain;
mod runner;
mod systemd;
