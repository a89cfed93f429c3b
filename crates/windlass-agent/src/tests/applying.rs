//! From an assignment to a host, and back to the server.

use serde_json::json;
use windlass_api::agent::{AgentEventKind, ObservedBody};

use super::world::{World, file};
use crate::surroundings::DiskHooks;
use crate::{AgentEnd, OnceResult, RunLength};

#[tokio::test(start_paused = true)]
async fn an_assignment_is_fetched_applied_and_reported() {
    let world = World::enrolled().await;
    let web = json!({"host": {
        "packages": ["nginx"],
        "directories": {"/srv/www": {"mode": "0750"}},
        "files": {
            "/srv/www/index.html": {"source": "www/index.html"},
            "/srv/www/about.html": {"source": "www/about.html", "template": true},
        },
        "services": {"nginx": {"reload_on": ["/srv/www/index.html"]}},
    }});
    let sources = [("www/index.html", "<h1>index</h1>\n"), ("www/about.html", "{{ node.hostname }}\n")];
    let one = world.make(1, &[("web", web), ("motd", file("/etc/motd", "one\n"))], &sources);
    world.assign(&one);
    let agent = world.start();
    world.until_in_sync(&one).await;
    assert_eq!(world.read("/srv/www/about.html"), "web-1\n");
    // The stream says that there is another one.
    let two = world.make(2, &[("motd", file("/etc/motd", "two\n"))], &[]);
    world.assign(&two);
    world.until_in_sync(&two).await;
    assert_eq!(world.read("/etc/motd"), "two\n");
    assert!(!world.path("/srv/www").exists(), "what left the assignment is removed");
    agent.stop().await;
    let state = world.server.lock();
    let modules: Vec<&String> = state.merged.modules.keys().collect();
    assert_eq!(modules, ["motd"]);
    let generations: Vec<u64> = state.reports.iter().map(|report| report.generation).collect();
    assert!(generations.is_sorted() && generations.contains(&1), "{generations:?}");
    let being_changed = state
        .reports
        .iter()
        .filter(|report| matches!(report.target.observed, ObservedBody::BeingChanged { .. }));
    assert_eq!(being_changed.count(), 2, "each change is announced before it begins");
    let applied = |generation| move |event: &AgentEventKind| matches!(event, AgentEventKind::Applied { generation: found, changed } if *found == generation && *changed > 0);
    assert!(state.merged.has_event(applied(1)) && state.merged.has_event(applied(2)));
    let blobs = state.requests.iter().filter(|request| request.contains("/blobs/")).count();
    assert_eq!(blobs, 5, "each blob once: {:#?}", state.requests);
    assert!(
        state
            .reports
            .iter()
            .any(|report| report.host.as_ref().is_some_and(|host| !host.agent_version.is_empty()))
    );
}

#[tokio::test(start_paused = true)]
async fn a_failing_module_is_reported_tried_again_and_does_not_stop_another() {
    let world = World::enrolled().await;
    let checked =
        |command: &str| json!({"host": {"files": {"/etc/a": {"content": "a\n", "validate": command}}}});
    let one = world.make(1, &[("bad", checked("false {}")), ("good", file("/etc/b", "b\n"))], &[]);
    world.assign(&one);
    let agent = world.start();
    world.server.until("the failure is reported", |state| state.merged.failure().is_some()).await;
    assert_eq!(world.read("/etc/b"), "b\n");
    let (generation, message) = world.server.lock().merged.failure().unwrap();
    assert!(generation == 1 && message.starts_with("module bad: path /etc/a"), "{message}");
    assert!(world.server.lock().merged.modules["good"].failure.is_none());
    let is_failed = |event: &AgentEventKind| matches!(event, AgentEventKind::ApplyFailed { items, .. } if items == &["path /etc/a"]);
    let attempts = |state: &super::server::ServerState| {
        state
            .reports
            .iter()
            .filter(|report| matches!(report.target.observed, ObservedBody::BeingChanged { .. }))
            .count()
    };
    world.server.until("it is tried again", |state| attempts(state) > 3).await;
    let events = world.server.lock().merged.events.iter().filter(|event| is_failed(&event.what)).count();
    assert_eq!(events, 1, "the same failure is one event");
    let two = world.make(2, &[("bad", checked("true {}")), ("good", file("/etc/b", "b\n"))], &[]);
    world.assign(&two);
    world.until_in_sync(&two).await;
    agent.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_runs_once_says_what_it_reached() {
    let world = World::enrolled().await;
    let once = || {
        let mut options = world.options();
        options.length = RunLength::Once { within: std::time::Duration::from_secs(60) };
        world.start_with(options, DiskHooks::default())
    };
    assert_eq!(once().end().await, Some(AgentEnd::Once(OnceResult::NothingAssigned)));
    let one = world.make(1, &[("motd", file("/etc/motd", "one\n"))], &[]);
    world.assign(&one);
    assert_eq!(once().end().await, Some(AgentEnd::Once(OnceResult::InSync)));
    assert!(world.server.lock().merged.is_in_sync(1, one.digest()));
    world.write("/etc/motd", "by hand\n");
    assert_eq!(once().end().await, Some(AgentEnd::Once(OnceResult::NotInSync)));
    let refused = world.make(2, &[("motd", file("/etc/motd", "two\n"))], &[]);
    world.server.offer(2, &refused.assignment, b"another document");
    let begun = tokio::time::Instant::now();
    assert_eq!(once().end().await, Some(AgentEnd::Once(OnceResult::NotInSync)));
    assert!(begun.elapsed().as_secs() < 30, "it does not wait for what it refused");
    assert_eq!(world.server.lock().merged.refusals(), [("wrong_document".to_owned(), Some(2))]);
    world.server.leave();
    assert_eq!(once().end().await, Some(AgentEnd::Once(OnceResult::ServerAway)));
}

#[tokio::test(start_paused = true)]
async fn several_agents_in_one_process_do_not_meet() {
    let worlds = [World::enrolled().await, World::enrolled().await, World::enrolled().await];
    let mut running = Vec::new();
    for (world, text) in worlds.iter().zip(["a\n", "b\n", "c\n"]) {
        let one = world.make(1, &[("motd", file("/etc/motd", text))], &[]);
        world.assign(&one);
        running.push((world.start(), one));
    }
    for (world, (agent, one)) in worlds.iter().zip(running) {
        world.until_in_sync(&one).await;
        agent.stop().await;
    }
    assert_eq!(worlds.map(|world| world.read("/etc/motd")), ["a\n", "b\n", "c\n"]);
}

/// In real time and over real sockets, as the binary does it.
#[tokio::test]
async fn an_agent_enrols_and_works_over_tcp() {
    let world = World::new();
    let mut options = world.options();
    options.server = Some(world.server.listen().await);
    let key = world.server.enrolment_key("token");
    crate::enroll(&options, &key, crate::Enrolment::First).await.unwrap();
    let one = world.make(1, &[("motd", file("/etc/motd", "one\n"))], &[]);
    world.assign(&one);
    let agent = super::world::run(crate::Agent::open(options).unwrap());
    world.until_in_sync(&one).await;
    assert_eq!(agent.stop().await, AgentEnd::Stopped);
    let status = crate::status(&world.state_dir).unwrap();
    assert_eq!((status.accepted, status.in_force, status.step), (1, Some(1), "applied"));
    crate::self_check(&world.state_dir).unwrap();
}
