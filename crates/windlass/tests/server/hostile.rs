//! Attacks by people who can push or open a pull request: the server reports why it refuses, and keeps running.

use serde_json::{Value, json};
use windlass_api::client::ClientError;
use windlass_api::endpoint::Operation;
use windlass_api::types::{QuarantinedWork, RepositoryEnvelope, RepositoryFields};
use windlass_testkit::servers::WorkTree;

use crate::api::Api;
use crate::fleet::{TUTORIAL, fleet, register, repository_with};
use crate::installation::{Installation, Server};

/// More than a server needs in these tests, and far less than a successful attack would take.
const MEMORY_KB: u64 = 600_000;

fn released(api: &Api, id: &str) -> RepositoryEnvelope {
    api.send(api.call(Operation::RepositoryRelease, &[id])).unwrap()
}

fn preview(api: &Api, id: &str, body: &Value) -> crate::api::Result<String> {
    api.text(api.call(Operation::PreviewCreate, &[id]).body(body))
}

fn test(api: &Api, id: &str) -> crate::api::Result<String> {
    api.text(api.call(Operation::RepositoryTest, &[id]))
}

/// Checks that a request is refused because of a quarantine.
#[track_caller]
fn is_quarantined(answer: crate::api::Result<String>) {
    match answer {
        Err(ClientError::Refused { status: 409, body }) if body.code == "quarantined" => {
            assert!(body.help.contains("windlass repo release"), "{body:?}");
        }
        other => panic!("{other:?}"),
    }
}

/// The peak memory of a server, where the system reports it.
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
fn work_that_crashes_the_server_twice_is_quarantined_until_released() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(TUTORIAL);
    let id = register(&server.api, "fleet", &work).id;
    assert_eq!(server.api.sync(&id).unwrap().error, None);
    server.stop();
    // The crash occurs while the commit is read.
    let mut dying = installation.serve_with_crash_point(Some("sync.fetched"), &[]);
    let _ = dying.api.sync(&id);
    dying.wait_for_end();
    // The next server reaches that point by itself, perhaps before it prints its address.
    installation.serve_until_crash("sync.fetched", &[]);
    // The third start would reach the same point, but does not try.
    let mut server = installation.serve_with_crash_point(Some("sync.fetched"), &[]);
    let api = &server.api;
    let held = api.wait_for("the quarantine", |api| {
        let repository = api.repository(&id).ok()?;
        (repository.status.slug() == "quarantined").then_some(repository)
    });
    assert_eq!(held.quarantines.len(), 1, "{held:?}");
    assert_eq!(held.quarantines[0].of, QuarantinedWork::Sync);
    assert!(held.quarantines[0].reason.contains("crashed twice"), "{held:?}");
    let run = api.sync(&id).unwrap();
    let error = run.error.unwrap();
    assert_eq!(error.code, "quarantined", "{error:?}");
    assert!(error.help.contains("windlass repo release"), "{error:?}");
    let events = api.events(0).unwrap();
    let told: Vec<_> = events.iter().filter(|event| event.kind == "gitops.repository_quarantined").collect();
    assert_eq!(told.len(), 1, "once, however often it is refused");
    // Nobody can have it read in another way; files that they send themselves are still accepted.
    is_quarantined(preview(api, &id, &json!({"ref": "main"})));
    is_quarantined(preview(api, &id, &json!({"commit": work.git(&["rev-parse", "main"])})));
    is_quarantined(test(api, &id));
    preview(api, &id, &json!({"files": {"fleet.yaml": TUTORIAL}})).unwrap();
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
fn requested_work_that_crashes_the_server_is_quarantined_alone() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let (work, other_work) = (repository_with(TUTORIAL), repository_with(&fleet("")));
    let id = register(&server.api, "fleet", &work).id;
    let bystander = register(&server.api, "bystander", &other_work).id;
    for id in [&id, &bystander] {
        assert_eq!(server.api.sync(id).unwrap().error, None);
    }
    server.stop();
    let mut dying = installation.serve_with_crash_point(Some("requested.begun"), &[]);
    let _ = preview(&dying.api, &id, &json!({"ref": "main"}));
    dying.wait_for_end();
    let mut dying = installation.serve_with_crash_point(Some("requested.begun"), &[]);
    let _ = test(&dying.api, &id);
    dying.wait_for_end();
    // The third start would reach the same point, but does not try.
    let mut server = installation.serve_with_crash_point(Some("requested.begun"), &[]);
    let api = &server.api;
    is_quarantined(preview(api, &id, &json!({"ref": "main"})));
    is_quarantined(test(api, &id));
    let held = api.repository(&id).unwrap();
    assert_eq!(held.quarantines.len(), 1, "{held:?}");
    assert_eq!(held.quarantines[0].of, QuarantinedWork::Requests);
    assert!(held.quarantines[0].reason.contains("crashed twice"), "{held:?}");
    for id in [&id, &bystander] {
        assert_eq!(api.sync(id).unwrap().error, None, "syncing it killed nobody");
    }
    assert!(api.repository(&bystander).unwrap().quarantines.is_empty());
    assert!(server.is_running());
    server.stop();

    let server = installation.serve(&[]);
    assert!(released(&server.api, &id).gitops_repository.quarantines.is_empty());
    preview(&server.api, &id, &json!({"ref": "main"})).unwrap();
    test(&server.api, &id).unwrap();
    server.stop();
}

#[test]
fn a_repository_that_crashed_a_server_is_quarantined_if_it_cannot_finish_alone() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(TUTORIAL);
    let id = register(&server.api, "fleet", &work).id;
    assert_eq!(server.api.sync(&id).unwrap().error, None);
    server.stop();
    let mut dying = installation.serve_with_crash_point(Some("sync.fetched"), &[]);
    let _ = dying.api.sync(&id);
    dying.wait_for_end();
    // The attacker removes the branch, so that every attempt alone delays all others and finds nothing.
    work.git(&["branch", "-m", "main", "elsewhere"]);
    let server = installation.serve(&[]);
    let api = &server.api;
    api.wait_for("the run that was begun", |api| {
        let run = api.run(&api.repository(&id).ok()?.last_run_id?).ok()?;
        (run.status.slug() == "failed").then_some(())
    });
    assert_eq!(api.sync(&id).unwrap().error.unwrap().code, "branch-missing");
    let error = api.sync(&id).unwrap().error.unwrap();
    assert_eq!(error.code, "quarantined", "{error:?}");
    assert!(error.message.contains("2 attempts without other work did not finish"), "{error:?}");
    work.git(&["branch", "-m", "elsewhere", "main"]);
    released(api, &id);
    assert_eq!(api.sync(&id).unwrap().error, None);
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
    let mut dying = installation.serve_with_crash_point(Some("sync.fetched"), &[]);
    let _ = dying.api.sync(&id);
    dying.wait_for_end();
    // After one crash the work is suspected; it is tried again and succeeds.
    let server = installation.serve(&[]);
    let run = server.api.wait_for("the run that was begun", |api| {
        let repository = api.repository(&id).ok()?;
        let run = api.run(&repository.last_run_id?).ok()?;
        (run.status.slug() != "in_progress").then_some(run)
    });
    assert_eq!(run.error, None);
    assert!(server.api.repository(&id).unwrap().quarantines.is_empty());
    server.stop();
}
