//! Upgrades of the agent by a file of a module. The binaries are scripts.

use std::path::PathBuf;

use serde_json::{Value, json};
use windlass_api::agent::AgentEventKind;

use super::world::{Assigned, World};
use crate::surroundings::DiskHooks;
use crate::{AgentEnd, AgentOptions};

const PATH: &str = "/usr/bin/windlass-agent";

fn binary(text: &str) -> (&'static str, Value) {
    let content = format!("#!/bin/sh\n{text}\n");
    ("agent", json!({"host": {"files": {PATH: {"content": content, "mode": "0755"}}}}))
}

fn options(world: &World) -> AgentOptions {
    AgentOptions { executable: Some(PathBuf::from(PATH)), ..world.options() }
}

/// A world whose agent has version 1 as its binary.
async fn with_version_1() -> (World, Assigned) {
    let world = World::enrolled().await;
    let one = world.make(1, &[binary("exit 0 # version 1")], &[]);
    world.apply(&one).await;
    (world, one)
}

#[tokio::test(start_paused = true)]
async fn a_new_binary_that_runs_is_started_and_stays_once_it_reached_the_server() {
    let (world, _) = with_version_1().await;
    let two = world.make(2, &[binary("exit 0 # version 2")], &[]);
    world.assign(&two);
    let agent = world.start_with(options(&world), DiskHooks::default());
    assert_eq!(agent.end().await, Some(AgentEnd::Restart));
    assert!(world.read(PATH).contains("version 2"));
    assert!(world.read(&format!("{PATH}.previous")).contains("version 1"));
    let agent = world.start_with(options(&world), DiskHooks::default());
    world.until_in_sync(&two).await;
    agent.stop().await;
    assert!(!world.state_dir.join("upgrade.json").exists(), "the upgrade is over");
}

#[tokio::test(start_paused = true)]
async fn a_new_binary_that_does_not_run_is_never_started() {
    let (world, _) = with_version_1().await;
    let two = world.make(2, &[binary("exit 3 # version 2")], &[]);
    world.assign(&two);
    let agent = world.start_with(options(&world), DiskHooks::default());
    let is_reverted = |event: &AgentEventKind| matches!(event, AgentEventKind::Reverted { generation: 2 });
    world.server.until("reverted", |state| state.merged.has_event(is_reverted)).await;
    world.server.until("and reported", |state| state.merged.failure().is_some()).await;
    assert!(world.read(PATH).contains("version 1"));
    let (generation, message) = world.server.lock().merged.failure().unwrap();
    assert!(generation == 2 && message.contains("the new agent does not run"), "{message}");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_new_binary_that_never_reaches_the_server_is_replaced_by_the_one_before() {
    let (world, _) = with_version_1().await;
    let two = world.make(2, &[binary("exit 0 # version 2")], &[]);
    world.assign(&two);
    let agent = world.start_with(options(&world), DiskHooks::default());
    assert_eq!(agent.end().await, Some(AgentEnd::Restart));
    world.server.leave();
    // Each start of the new binary ends before it reaches anyone; the last goes back to the binary before.
    let mut starts = 0;
    while world.read(PATH).contains("version 2") {
        starts += 1;
        assert!(starts < 10, "the old binary comes back");
        let agent = world.start_with(options(&world), DiskHooks::default());
        let end = tokio::time::timeout(std::time::Duration::from_secs(30), async {
            while !agent.is_finished() && world.read(PATH).contains("version 2") {
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
        });
        let _ = end.await;
        agent.stop().await;
    }
    assert!((3..=4).contains(&starts), "{starts}");
    world.server.come_back();
    let agent = world.start_with(options(&world), DiskHooks::default());
    let is_reverted = |event: &AgentEventKind| matches!(event, AgentEventKind::Reverted { generation: 2 });
    world.server.until("reverted", |state| state.merged.has_event(is_reverted)).await;
    assert!(world.read(PATH).contains("version 1"));
    drop(agent);
}
