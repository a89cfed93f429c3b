//! Faults: the agent stopped at every step, the network cut at every place, full disks, torn files, a clock that jumps. The
//! final host and the final report equal those without the fault.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use windlass_api::agent::AgentEventKind;

use super::merged::Summary;
use super::world::{Assigned, World, file};
use crate::AgentEnd;
use crate::surroundings::DiskHooks;
use crate::target::host::StepHook;

type FinalReport = (Option<Summary>, BTreeMap<String, Summary>, Vec<String>);

fn first() -> Vec<(&'static str, Value)> {
    let web = json!({"host": {
        "packages": ["nginx"],
        "files": {"/srv/www/index.html": {"source": "index"}, "/etc/nginx/nginx.conf": {"content": "one\n"}},
        "services": {"nginx": {"reload_on": ["/etc/nginx/nginx.conf"]}},
    }});
    vec![("web", web), ("old", file("/etc/old/file", "old\n"))]
}

fn second() -> Vec<(&'static str, Value)> {
    let web = json!({"host": {
        "packages": ["nginx"],
        "files": {"/srv/www/index.html": {"source": "index"}, "/etc/nginx/nginx.conf": {"content": "two\n"}},
        "services": {"nginx": {"reload_on": ["/etc/nginx/nginx.conf"]}},
    }});
    vec![("web", web), ("new", file("/etc/hosts", "127.0.0.1 localhost\n"))]
}

/// A world in which generation 1 is applied, and generation 2 is assigned.
async fn before_second() -> (World, Assigned) {
    let world = World::enrolled().await;
    world.write("/etc/nginx/nginx.conf", "original\n");
    let one = world.make(1, &first(), &[("index", "<h1>one</h1>\n")]);
    world.apply(&one).await;
    let two = world.make(2, &second(), &[("index", "<h1>two</h1>\n")]);
    world.assign(&two);
    (world, two)
}

fn crash_at(step: usize) -> (DiskHooks, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counter = count.clone();
    let steps = StepHook::new(move |_| {
        if counter.fetch_add(1, Ordering::SeqCst) == step {
            resume_unwind(Box::new("crash"));
        }
    });
    (DiskHooks { steps, writes: None }, count)
}

/// The host and the final report without a fault, and how many steps and places there were.
async fn without_fault() -> (BTreeMap<String, String>, FinalReport, usize, usize) {
    let (world, two) = before_second().await;
    let (hooks, steps) = crash_at(usize::MAX);
    let places = world.server.lock().places;
    let agent = world.start_with(world.options(), hooks);
    until_settled(&world, &two).await;
    agent.stop().await;
    let state = world.server.lock();
    (world.snapshot(), state.merged.summary(), steps.load(Ordering::SeqCst), state.places - places)
}

/// In sync, and confirmed: generation 2 changes `/etc/hosts`.
async fn until_settled(world: &World, assigned: &Assigned) {
    world.until_in_sync(assigned).await;
    let reports = world.server.lock().reports.len();
    world.server.until("nothing more happens", |state| state.reports.len() > reports).await;
}

/// Runs an agent that crashes at a step. With other timing there may be fewer steps; then it ends with its work done.
async fn run_until_crash(world: &World, assigned: &Assigned, step: usize) {
    let (hooks, _) = crash_at(step);
    // The first steps are those of opening the state directory.
    let start = std::panic::AssertUnwindSafe(|| world.start_with(world.options(), hooks));
    let Ok(agent) = std::panic::catch_unwind(start) else { return };
    let finished = async {
        while !agent.is_finished() {
            tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        }
    };
    tokio::select! {
        () = finished => assert_eq!(agent.end().await, None, "step {step}"),
        () = until_settled(world, assigned) => assert_eq!(agent.stop().await, AgentEnd::Stopped),
    }
}

#[tokio::test(start_paused = true)]
async fn a_crash_at_any_step_and_a_restart_give_the_same_host_and_the_same_report() {
    let (expected, report, steps, _) = without_fault().await;
    assert!(steps > 80, "{steps}");
    for step in 0..steps {
        let (world, two) = before_second().await;
        run_until_crash(&world, &two, step).await;
        let agent = world.start();
        until_settled(&world, &two).await;
        assert_eq!(agent.stop().await, AgentEnd::Stopped);
        assert_eq!(world.snapshot(), expected, "step {step}");
        assert_eq!(world.server.lock().merged.summary(), report, "step {step}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_cut_at_any_place_gives_the_same_host_and_the_same_report() {
    let (expected, report, _, places) = without_fault().await;
    assert!(places > 20, "{places}");
    for place in 0..places {
        let (world, two) = before_second().await;
        let begin = world.server.lock().places;
        world.server.lock().cut_at = Some(begin + place);
        let agent = world.start();
        until_settled(&world, &two).await;
        agent.stop().await;
        let state = world.server.lock();
        assert!(state.requests.iter().any(|one| one.starts_with("cut")), "place {place} exists");
        assert_eq!(world.snapshot(), expected, "place {place}");
        assert_eq!(state.merged.summary(), report, "place {place}");
        let applied = state
            .merged
            .events
            .iter()
            .filter(|event| matches!(event.what, AgentEventKind::Applied { generation: 2, .. }));
        assert_eq!(applied.count(), 1, "place {place}: no event is lost or doubled");
    }
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_is_reported_and_the_work_goes_on_when_there_is_room() {
    let (expected, report, ..) = without_fault().await;
    for name in ["assignment.json", "outbox.json", "a blob"] {
        let (world, two) = before_second().await;
        let is_full = Arc::new(AtomicBool::new(true));
        let full = is_full.clone();
        let writes = move |written: &str| match written == name && full.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::StorageFull.into()),
            false => Ok(()),
        };
        let hooks = DiskHooks { steps: StepHook::default(), writes: Some(Arc::new(writes)) };
        let agent = world.start_with(world.options(), hooks);
        let is_full_event = |event: &windlass_api::agent::AgentEvent| {
            event.what == AgentEventKind::Trouble && event.message.ends_with("the disk is full")
        };
        world
            .server
            .until(&format!("{name} is reported"), |state| state.merged.events.iter().any(is_full_event))
            .await;
        assert_eq!(world.read("/etc/nginx/nginx.conf"), "one\n", "{name}: nothing is half done");
        is_full.store(false, Ordering::SeqCst);
        until_settled(&world, &two).await;
        agent.stop().await;
        assert_eq!(world.snapshot(), expected, "{name}");
        assert_eq!(world.server.lock().merged.summary(), report, "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn torn_state_files_remove_nothing_and_the_server_puts_them_right() {
    let (expected, report, ..) = without_fault().await;
    for names in [
        vec!["assignment.json"],
        vec!["assignment.json", "assignment.json.previous"],
        vec!["outbox.json"],
        vec!["outbox.json", "outbox.json.previous"],
        vec!["assignment.json", "assignment.json.previous", "outbox.json", "outbox.json.previous"],
    ] {
        let (world, two) = before_second().await;
        world.apply(&two).await;
        for name in &names {
            let path = world.state_dir.join(name);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        }
        world.server.leave();
        let agent = world.start();
        tokio::time::sleep(std::time::Duration::from_secs(600)).await;
        assert_eq!(world.snapshot(), expected, "{names:?}: the host stays as it is");
        let heard = world.server.lock().reports.len();
        world.server.come_back();
        let is_damaged = |event: &windlass_api::agent::AgentEvent| {
            event.what == AgentEventKind::Trouble && event.message.contains("is damaged")
        };
        world
            .server
            .until("the damage is reported", |state| state.merged.events.iter().any(is_damaged))
            .await;
        world.server.until("reported anew", |state| state.reports.len() > heard + 1).await;
        until_settled(&world, &two).await;
        agent.stop().await;
        assert_eq!(world.snapshot(), expected, "{names:?}");
        assert_eq!(world.server.lock().merged.summary(), report, "{names:?}");
    }
}

/// The first milliseconds of 1970, as on a host without a battery for its clock, and the year 2100.
const WRONG_TIMES: [i64; 2] = [5, 4_102_444_800_000];

#[tokio::test(start_paused = true)]
async fn a_clock_that_jumps_at_any_step_changes_nothing_but_the_times_in_reports() {
    let (expected, report, steps, _) = without_fault().await;
    for step in 0..steps {
        let (world, two) = before_second().await;
        let (clock, count) = (world.clock.clone(), AtomicUsize::new(0));
        // Back at this step, and far ahead at the next one.
        let jump = StepHook::new(move |_| {
            let passed = count.fetch_add(1, Ordering::SeqCst).checked_sub(step);
            if let Some(time) = passed.and_then(|passed| WRONG_TIMES.get(passed)) {
                clock.store(*time, Ordering::SeqCst);
            }
        });
        let agent = world.start_with(world.options(), DiskHooks { steps: jump, writes: None });
        until_settled(&world, &two).await;
        assert_eq!(agent.stop().await, AgentEnd::Stopped);
        assert_eq!(world.snapshot(), expected, "step {step}");
        assert_eq!(world.server.lock().merged.summary(), report, "step {step}");
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_power_cut_and_with_a_wrong_clock_the_server_hears_the_agent_again() {
    let (expected, report, ..) = without_fault().await;
    for time in WRONG_TIMES {
        let (world, two) = before_second().await;
        world.apply(&two).await;
        for name in ["outbox.json", "outbox.json.previous"] {
            fs::write(world.state_dir.join(name), "torn").unwrap();
        }
        world.clock.store(time, Ordering::SeqCst);
        world.write("/etc/nginx/nginx.conf", "by hand\n");
        let agent = world.start();
        world.server.until("drift is reported", |state| state.merged.drift.len() == 1).await;
        world.write("/etc/nginx/nginx.conf", "two\n");
        world.server.until("the end of drift is reported", |state| state.merged.drift.is_empty()).await;
        agent.stop().await;
        assert_eq!(world.snapshot(), expected, "time {time}");
        assert_eq!(world.server.lock().merged.summary(), report, "time {time}");
    }
}

#[tokio::test(start_paused = true)]
async fn damaged_blobs_are_fetched_again() {
    let (world, two) = before_second().await;
    world.apply(&two).await;
    for entry in fs::read_dir(world.state_dir.join("blobs")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::write(path, "damaged").unwrap();
        }
    }
    world.write("/srv/www/index.html", "by hand\n");
    let agent = world.start();
    world.server.until("the drift is seen again", |state| state.merged.drift.len() == 1).await;
    agent.stop().await;
}
