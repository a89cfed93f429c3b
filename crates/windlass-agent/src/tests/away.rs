//! While the server is away: the agent keeps what it holds, goes on correcting it, and reports afterwards.

use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;
use windlass_api::agent::{AgentEventKind, StreamMessage};

use super::server::ServerState;
use super::world::{World, file};
use crate::surroundings::DiskHooks;

fn corrected(path: &str, content: &str) -> Value {
    json!({"drift": "correct", "host": {"files": {path: {"content": content}}}})
}

/// Waits until a file has this content. Time passes by itself, and with it the agent's intervals.
async fn until_content(world: &World, path: &str, content: &str) {
    let is_there = async {
        while std::fs::read_to_string(world.path(path)).ok().as_deref() != Some(content) {
            tokio::time::sleep(Duration::from_secs(10)).await;
        }
    };
    timeout(Duration::from_secs(3600), is_there)
        .await
        .unwrap_or_else(|_| panic!("{path} never has {content:?}"));
}

fn corrections(state: &ServerState) -> usize {
    let is_correction =
        |event: &&windlass_api::agent::AgentEvent| matches!(event.what, AgentEventKind::Corrected { .. });
    state.merged.events.iter().filter(is_correction).count()
}

#[tokio::test(start_paused = true)]
async fn drift_is_corrected_while_the_server_is_away_and_reported_when_it_is_back() {
    let world = World::enrolled().await;
    let modules = [("kept", corrected("/etc/kept", "kept\n")), ("seen", file("/etc/seen", "seen\n"))];
    let one = world.make(1, &modules, &[]);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    world.server.leave();
    world.write("/etc/kept", "by hand\n");
    world.write("/etc/seen", "by hand\n");
    until_content(&world, "/etc/kept", "kept\n").await;
    assert_eq!(world.read("/etc/seen"), "by hand\n", "only reported");
    world.server.come_back();
    world
        .server
        .until("the drift is reported", |state| !state.merged.drift.is_empty() && corrections(state) == 1)
        .await;
    {
        let state = world.server.lock();
        let drift: Vec<String> =
            state.merged.drift.iter().map(|item| format!("{} {}", item.kind, item.name)).collect();
        assert_eq!(drift, ["path /etc/seen"]);
        assert!(state.merged.has_event(
            |event| matches!(event, AgentEventKind::Drifted { item, .. } if item == "path /etc/seen")
        ));
    }
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_starts_without_its_server_goes_on_with_what_it_holds() {
    let world = World::enrolled().await;
    let one = world.make(1, &[("kept", corrected("/etc/kept", "kept\n"))], &[]);
    world.apply(&one).await;
    world.server.leave();
    world.write("/etc/kept", "by hand\n");
    let agent = world.start();
    until_content(&world, "/etc/kept", "kept\n").await;
    agent.stop().await;
    let agent = world.start();
    world.server.come_back();
    world.server.until("the correction is reported", |state| corrections(state) == 1).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_falls_silent_is_connected_to_again() {
    let world = World::enrolled().await;
    let one = world.make(1, &[("motd", file("/etc/motd", "one\n"))], &[]);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    let connections = world.server.lock().connections;
    world.server.lock().silent = true;
    let began = tokio::time::Instant::now();
    world.server.until("connected again", |state| state.connections > connections).await;
    assert!((40..=90).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    world.server.lock().silent = false;
    let two = world.make(2, &[("motd", file("/etc/motd", "two\n"))], &[]);
    world.assign(&two);
    world.until_in_sync(&two).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_has_no_time_for_reports_gets_them_later() {
    let world = World::enrolled().await;
    world.server.lock().refuse_reports = Some(503);
    let one = world.make(1, &[("motd", file("/etc/motd", "one\n"))], &[]);
    world.assign(&one);
    let agent = world.start();
    let posts = |state: &ServerState| {
        state.requests.iter().filter(|one| one.starts_with("POST /agent/v1/report")).count()
    };
    world.server.until("refused several times", |state| posts(state) > 3).await;
    assert_eq!(world.read("/etc/motd"), "one\n", "applying does not wait for reports");
    world.server.lock().refuse_reports = None;
    world.until_in_sync(&one).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_report_that_the_server_rejects_does_not_block_the_next_ones() {
    let world = World::enrolled().await;
    world.server.lock().refuse_reports = Some(422);
    let agent = world.start();
    let posts = |state: &ServerState| {
        state.requests.iter().filter(|one| one.starts_with("POST /agent/v1/report")).count()
    };
    world.server.until("rejected", |state| posts(state) > 0).await;
    world.server.lock().refuse_reports = None;
    let one = world.make(1, &[("motd", file("/etc/motd", "one\n"))], &[]);
    world.assign(&one);
    world.until_in_sync(&one).await;
    assert!(
        world.server.lock().reports.iter().any(|report| report.events_dropped > 0),
        "what was lost is counted"
    );
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_server_that_asks_gets_a_complete_report_and_a_quiet_host_reports_now_and_then() {
    let world = World::enrolled().await;
    let one = world.make(1, &[("a", file("/etc/a", "a\n")), ("b", file("/etc/b", "b\n"))], &[]);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    let reports = world.server.lock().reports.len();
    world.server.tell(&StreamMessage::Observe);
    world.server.until("reported", |state| state.reports.len() > reports).await;
    let report = world.server.lock().reports[reports].clone();
    assert!(report.complete && report.modules.len() == 2, "{report:#?}");
    let quiet = tokio::time::Instant::now();
    world.server.until("reported again", |state| state.reports.len() > reports + 1).await;
    assert!(quiet.elapsed() >= Duration::from_secs(590), "{:?}", quiet.elapsed());
    let report = world.server.lock().reports[reports + 1].clone();
    assert!(!report.complete && report.modules.is_empty(), "only the time of the last look");
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_changes_times_and_nothing_else() {
    let world = World::enrolled().await;
    let one = world.make(1, &[("kept", corrected("/etc/kept", "kept\n"))], &[]);
    world.assign(&one);
    let agent = world.start_with(world.options(), DiskHooks::default());
    world.until_in_sync(&one).await;
    for (generation, millis) in [(2, 0), (3, 4_000_000_000_000), (4, -1_000_000_000_000)] {
        world.clock.store(millis, Ordering::SeqCst);
        world.server.cut();
        let next =
            world.make(generation, &[("kept", corrected("/etc/kept", &format!("{generation}\n")))], &[]);
        world.assign(&next);
        world.until_in_sync(&next).await;
        world.write("/etc/kept", "by hand\n");
        until_content(&world, "/etc/kept", &format!("{generation}\n")).await;
    }
    agent.stop().await;
}
