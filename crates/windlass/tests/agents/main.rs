//! A real server and real agents together: the `windlass` process, the `windlass-agent` binary, and hosts with systemd.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::result_large_err, reason = "a refusal carries all that the server said")]

#[path = "../server/api.rs"]
#[allow(dead_code, reason = "the server's tests use more of it")]
mod api;
#[path = "../server/fleet.rs"]
#[allow(dead_code, reason = "the server's tests use more of it")]
mod fleet;
#[path = "../server/installation.rs"]
#[allow(dead_code, reason = "the server's tests use more of it")]
mod installation;

mod agent_binary;
mod control_plane;
mod host;

mod hosts;
mod refusals;
