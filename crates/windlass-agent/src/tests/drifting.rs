//! Drift: noticed within seconds, reported by field, corrected where the module says so.

use std::time::Duration;

use serde_json::json;
use windlass_api::agent::AgentEventKind;
use windlass_core::host::FieldDifference;

use super::world::{World, file};

/// In real time, because inotify does not know of paused time.
#[tokio::test]
async fn a_file_that_is_changed_by_hand_is_reported_within_seconds() {
    let world = World::enrolled().await;
    let one = world.make(1, &[("motd", file("/etc/motd", "one\n"))], &[]);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    let began = std::time::Instant::now();
    world.write("/etc/motd", "by hand\n");
    world.server.until("the drift is reported", |state| !state.merged.drift.is_empty()).await;
    assert!(began.elapsed() < Duration::from_secs(30), "long before the interval");
    let drift = world.server.lock().merged.drift.clone();
    assert!(matches!(&drift[0].fields[..], [FieldDifference::Content(_)]), "{drift:#?}");
    world.write("/etc/motd", "one\n");
    world.until_in_sync(&one).await;
    assert!(world.server.lock().merged.has_event(|event| matches!(event, AgentEventKind::Resolved { .. })));
    agent.stop().await;
}

#[tokio::test]
async fn a_corrected_file_is_an_event_with_before_and_after() {
    let world = World::enrolled().await;
    let spec =
        json!({"drift": "correct", "host": {"files": {"/etc/motd": {"content": "one\n", "mode": "0644"}}}});
    let one = world.make(1, &[("motd", spec)], &[]);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    world.write("/etc/motd", "by hand\n");
    let is_corrected = |event: &AgentEventKind| matches!(event, AgentEventKind::Corrected { .. });
    world.server.until("corrected", |state| state.merged.has_event(is_corrected)).await;
    assert_eq!(world.read("/etc/motd"), "one\n");
    let events = world.server.lock().merged.events.clone();
    let event = events.iter().find(|event| is_corrected(&event.what)).unwrap();
    let AgentEventKind::Corrected { item, module, fields } = &event.what else { unreachable!() };
    assert_eq!((item.as_str(), module.as_str()), ("path /etc/motd", "motd"));
    let text = serde_json::to_string(fields).unwrap();
    assert!(text.contains("by hand") && text.contains("one"), "{text}");
    agent.stop().await;
}

#[tokio::test]
async fn a_new_generation_leaves_drift_of_other_items_to_people_and_the_same_document_again_reverts_it() {
    let world = World::enrolled().await;
    let modules =
        |chrony: &str| [("motd", file("/etc/motd", "one\n")), ("time", file("/etc/chrony", chrony))];
    let one = world.make(1, &modules("pool a\n"), &[]);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    world.write("/etc/motd", "by hand\n");
    world.server.until("the drift is reported", |state| !state.merged.drift.is_empty()).await;

    let is_applied = |wanted: u64| move |event: &AgentEventKind| matches!(event, AgentEventKind::Applied { generation, .. } if *generation == wanted);
    let two = world.make(2, &modules("pool b\n"), &[]);
    world.assign(&two);
    world.server.until("generation 2", |state| state.merged.has_event(is_applied(2))).await;
    assert_eq!(world.read("/etc/chrony"), "pool b\n");
    assert_eq!(world.read("/etc/motd"), "by hand\n", "nobody decided about it");

    let again = world.make(3, &modules("pool b\n"), &[]);
    world.assign(&again);
    world.until_in_sync(&again).await;
    assert_eq!(world.read("/etc/motd"), "one\n", "reverted");
    agent.stop().await;
}
