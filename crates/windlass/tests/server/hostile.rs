//! What people who can push, or open a pull request, try: the server says why it does not go along, and lives.

use serde_json::Value;
use windlass_api::endpoint::Operation;
use windlass_api::types::{QuarantinedWork, RepositoryEnvelope, RepositoryFields};
use windlass_testkit::servers::WorkTree;

use crate::api::Api;
use crate::fleet::{TUTORIAL, register, repository_with};
use crate::installation::{Installation, Server};

/// More than a server needs in these tests, and far less than what kills one.
const MEMORY_KB: u64 = 600_000;

fn released(api: &Api, id: &str) -> RepositoryEnvelope {
    api.send(api.call(Operation::RepositoryRelease, &[id])).unwrap()
}

/// The most memory that a server ever had, where the system tells.
fn peak_memory_kb(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").trim().parse().unwrap_or_default()
}

#[test]
fn small_packs_with_endless_directories_fail_their_sync_and_nothing_else() {
    let installation = Installation::new();
    let mut server = installation.serve(&[]);
    let api = &server.api;
    let wide = WorkTree::new();
    wide.commit_path_bomb(10, 10);
    let root = tempfile::tempdir().unwrap();
    let deep = WorkTree::publish_nested_trees(root.path(), "deep.git", 20_000);
    let deep_fields = RepositoryFields {
        name: Some("deep".to_owned()),
        repo_url: Some(format!("file://{}", deep.display())),
        enabled: Some(false),
        ..RepositoryFields::default()
    };
    let ids = [register(api, "wide", &wide).id, api.register(deep_fields).unwrap().id];
    for (id, reason) in ids.iter().zip(["more than 200000 names", "nested more than 64 deep"]) {
        let run = api.sync(id).unwrap();
        let error = run.error.unwrap();
        assert_eq!(error.code, "tree-too-large", "{error:?}");
        assert!(error.message.contains(reason) && error.help.contains("include"), "{error:?}");
    }
    let sound_work = repository_with(TUTORIAL);
    let sound = register(api, "sound", &sound_work).id;
    assert_eq!(api.sync(&sound).unwrap().error, None);
    assert!(api.resources().unwrap().is_empty());
    assert!(server.is_running());
    let peak = peak_memory_kb(&server);
    assert!(peak < MEMORY_KB, "{peak} kB");
    server.stop();
}

#[test]
fn what_kills_the_server_twice_is_quarantined_until_someone_releases_it() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(TUTORIAL);
    let id = register(&server.api, "fleet", &work).id;
    server.stop();
    // Whatever it is that kills it, it does so while the commit is read.
    for _ in 0..2 {
        let mut dying = installation.serve_dying_at(Some("sync.fetched"), &[]);
        let _ = dying.api.sync(&id);
        dying.wait_for_end();
    }
    // The third start would come to the same point, and does not.
    let mut server = installation.serve_dying_at(Some("sync.fetched"), &[]);
    let api = &server.api;
    let held = api.wait_for("the quarantine", |api| {
        let repository = api.repository(&id).ok()?;
        (repository.status == "quarantined").then_some(repository)
    });
    assert_eq!(held.quarantines.len(), 1, "{held:?}");
    assert_eq!(held.quarantines[0].of, QuarantinedWork::Sync);
    assert!(held.quarantines[0].reason.contains("died twice"), "{held:?}");
    let run = api.sync(&id).unwrap();
    let error = run.error.unwrap();
    assert_eq!(error.code, "quarantined", "{error:?}");
    assert!(error.help.contains("windlass repo release"), "{error:?}");
    let events = api.events(0).unwrap();
    let told: Vec<_> = events.iter().filter(|event| event.kind == "gitops.repository_quarantined").collect();
    assert_eq!(told.len(), 1, "once, however often it is refused");
    assert!(server.is_running());
    server.stop();

    let server = installation.serve(&[]);
    let api = &server.api;
    assert!(released(api, &id).gitops_repository.quarantines.is_empty());
    assert_eq!(api.sync(&id).unwrap().error, None);
    let audit = api.audit().unwrap();
    let told: Vec<&Value> =
        audit.iter().filter(|it| it.action == "repository.release").map(|it| &it.detail).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0]["released"]["sync"]["reason"].is_string(), "{told:?}");
    server.stop();
}

#[test]
fn a_server_that_is_stopped_in_the_middle_has_not_died_of_what_it_did() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(TUTORIAL);
    let id = register(&server.api, "fleet", &work).id;
    assert_eq!(server.api.sync(&id).unwrap().error, None);
    server.stop();
    let mut dying = installation.serve_dying_at(Some("sync.fetched"), &[]);
    let _ = dying.api.sync(&id);
    dying.wait_for_end();
    // One death makes a suspect, which is tried again and found innocent.
    let server = installation.serve(&[]);
    let run = server.api.wait_for("the run that was begun", |api| {
        let repository = api.repository(&id).ok()?;
        let run = api.run(&repository.last_run_id?).ok()?;
        (run.status != "in_progress").then_some(run)
    });
    assert_eq!(run.error, None);
    assert!(server.api.repository(&id).unwrap().quarantines.is_empty());
    server.stop();
}
