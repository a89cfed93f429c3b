//! Confirm or revert: a change that could cut the agent off stays only if the server is reached afterwards.

use std::time::Duration;

use serde_json::{Value, json};
use windlass_api::agent::AgentEventKind;

use super::server::ServerState;
use super::world::{Assigned, Running, World, file};
use crate::surroundings::DiskHooks;
use crate::target::host::StepHook;

fn network(text: &str) -> (&'static str, Value) {
    ("network", file("/etc/network/interfaces", text))
}

fn is_reverted(generation: u64) -> impl Fn(&ServerState) -> bool {
    let is_meant = move |event: &AgentEventKind| matches!(event, AgentEventKind::Reverted { generation: found } if *found == generation);
    move |state| state.merged.has_event(is_meant)
}

/// A hook that lets the server leave when the change is made: as if the change had cut the agent off.
fn cutting(world: &World) -> DiskHooks {
    let server = world.server.clone();
    let steps = StepHook::new(move |step| {
        if step == "after applying" {
            server.leave();
        }
    });
    DiskHooks { steps, writes: None }
}

async fn at_generation_1() -> (World, Assigned) {
    let world = World::enrolled().await;
    world.write("/etc/network/interfaces", "original\n");
    let one = world.make(1, &[network("one\n"), ("motd", file("/etc/motd", "one\n"))], &[]);
    world.apply(&one).await;
    (world, one)
}

/// Waits until a file has this content, while time passes.
async fn until_content(world: &World, path: &str, content: &str) {
    let is_there = async {
        while std::fs::read_to_string(world.path(path)).ok().as_deref() != Some(content) {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(3600), is_there).await.expect("the content is reached");
}

async fn check_reverted(world: &World, agent: Running, one: &Assigned) {
    world.server.come_back();
    world.server.until("the revert is reported", is_reverted(2)).await;
    let (digest, expected) = (one.digest(), 2);
    world.server.until("the failure is reported", |state| state.merged.failure().is_some()).await;
    {
        let state = world.server.lock();
        let (generation, message) = state.merged.failure().unwrap();
        assert_eq!(
            (generation, state.merged.order.0),
            (expected, expected),
            "reports are about the generation that failed"
        );
        assert!(message.contains("did not reach its server"), "{message}");
        let target = serde_json::to_value(&state.merged.target).unwrap();
        assert_eq!(target["observed"]["digest"], json!(digest), "what was before is in force");
        assert_eq!(target["observed"]["generation"], json!(1));
    }
    // The same generation is not tried again, a higher one is.
    let requests = world.server.lock().requests.len();
    world.server.until("time passes", |state| state.requests.len() > requests).await;
    assert_eq!(world.read("/etc/network/interfaces"), "one\n");
    let three = world.make(3, &[network("three\n"), ("motd", file("/etc/motd", "three\n"))], &[]);
    world.assign(&three);
    world.until_in_sync(&three).await;
    assert_eq!(world.read("/etc/network/interfaces"), "three\n");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_after_which_the_server_is_reached_on_a_new_connection_stays() {
    let (world, _) = at_generation_1().await;
    let connections = world.server.lock().connections;
    let two = world.make(2, &[network("two\n")], &[]);
    world.assign(&two);
    let agent = world.start();
    world.until_in_sync(&two).await;
    world.server.until("a new connection", |state| state.connections == connections + 2).await;
    let reports = world.server.lock().reports.len();
    world.server.until("long after the deadline", |state| state.reports.len() > reports).await;
    assert_eq!(world.read("/etc/network/interfaces"), "two\n");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_change_that_cuts_the_agent_off_is_taken_back() {
    let (world, one) = at_generation_1().await;
    let two = world.make(2, &[network("two\n"), ("motd", file("/etc/motd", "two\n"))], &[]);
    world.assign(&two);
    let agent = world.start_with(world.options(), cutting(&world));
    until_content(&world, "/etc/network/interfaces", "two\n").await;
    let began = tokio::time::Instant::now();
    until_content(&world, "/etc/network/interfaces", "one\n").await;
    let waited = began.elapsed();
    assert!((100..=130).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(world.read("/etc/motd"), "one\n", "the whole generation is taken back");
    agent.stop().await;
    let agent = world.start();
    check_reverted(&world, agent, &one).await;
}

#[tokio::test(start_paused = true)]
async fn a_restart_in_between_does_not_keep_the_change() {
    let (world, one) = at_generation_1().await;
    let two = world.make(2, &[network("two\n"), ("motd", file("/etc/motd", "two\n"))], &[]);
    world.assign(&two);
    let agent = world.start_with(world.options(), cutting(&world));
    until_content(&world, "/etc/network/interfaces", "two\n").await;
    agent.stop().await;
    let agent = world.start();
    until_content(&world, "/etc/network/interfaces", "one\n").await;
    check_reverted(&world, agent, &one).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_its_own_change_stops_again_and_again_takes_it_back() {
    let (world, _) = at_generation_1().await;
    let two = world.make(2, &[network("two\n"), ("motd", file("/etc/motd", "two\n"))], &[]);
    world.assign(&two);
    // The start that makes the change, and three more.
    for _ in 0..4 {
        let crash = StepHook::new(|step| {
            if step == "after applying" {
                std::panic::resume_unwind(Box::new("crash"));
            }
        });
        let agent = world.start_with(world.options(), DiskHooks { steps: crash, writes: None });
        assert_eq!(agent.end().await, None);
    }
    assert_eq!(world.read("/etc/network/interfaces"), "one\n", "the third start after the change goes back");
    let agent = world.start();
    world.server.until("the revert is reported", is_reverted(2)).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn the_first_assignment_is_taken_back_to_the_host_as_it_was() {
    let world = World::enrolled().await;
    world.write("/etc/network/interfaces", "original\n");
    let before = world.snapshot();
    let one = world.make(1, &[network("one\n"), ("motd", file("/etc/motd", "one\n"))], &[]);
    world.assign(&one);
    let agent = world.start_with(world.options(), cutting(&world));
    until_content(&world, "/etc/network/interfaces", "one\n").await;
    until_content(&world, "/etc/network/interfaces", "original\n").await;
    agent.stop().await;
    assert_eq!(world.snapshot(), before);
}

#[tokio::test(start_paused = true)]
async fn other_changes_need_no_confirmation() {
    let (world, _) = at_generation_1().await;
    let two = world.make(2, &[network("one\n"), ("motd", file("/etc/motd", "two\n"))], &[]);
    world.assign(&two);
    let agent = world.start_with(world.options(), cutting(&world));
    until_content(&world, "/etc/motd", "two\n").await;
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert_eq!(world.read("/etc/motd"), "two\n");
    agent.stop().await;
}
