//! The loops: work that nobody has to request. A timer or a nudge starts each turn.

pub mod agent_events;
pub mod agents;
pub mod assign;
pub mod blobs;
pub mod checkpoints;
pub mod contacts;
pub mod contents;
pub mod credentials;
pub mod forge;
pub mod housekeeping;
pub mod pull_requests;
pub mod replicas;

use tokio::task::JoinSet;

use crate::control::Control;
use crate::flow::drift::sensor;
use crate::flow::observe::write_loop;
use crate::flow::{apply, sync};
use crate::outside::notify;

/// Starts every loop.
pub fn start(server: &Control) -> JoinSet<()> {
    let mut loops = JoinSet::new();
    loops.spawn(sync::run_loop(server.clone()));
    loops.spawn(apply::run_loop(server.clone()));
    loops.spawn(sensor::run_loop(server.clone()));
    loops.spawn(notify::run_loop(server.clone()));
    loops.spawn(assign::run_loop(server.clone()));
    loops.spawn(blobs::run_loop(server.clone()));
    loops.spawn(agents::run_loop(server.clone()));
    loops.spawn(checkpoints::run_loop(server.clone()));
    loops.spawn(contents::run_loop(server.clone()));
    loops.spawn(credentials::run_loop(server.clone()));
    loops.spawn(forge::run_loop(server.clone()));
    loops.spawn(housekeeping::run_loop(server.clone()));
    loops.spawn(pull_requests::run_loop(server.clone()));
    loops.spawn(replicas::run_loop(server.clone()));
    loops.spawn(write_loop::run_loop(server.clone()));
    loops.spawn(agent_events::run_loop(server.clone()));
    loops.spawn(contacts::run_loop(server.clone()));
    loops
}
