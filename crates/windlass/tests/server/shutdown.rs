//! Failures of git, disks and processes: the messages, and the recovery.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};

use serde_json::json;
use windlass_api::endpoint::Operation;
use windlass_api::noun::Noun;
use windlass_api::types::{AuditVerdict, RepositoryFields, RunEnvelope, Status};

use crate::api::{Api, refused};
use crate::fleet::{fields, nodes, register, repository_with};
use crate::installation::{Installation, fill};

#[test]
fn a_sync_from_a_silent_git_server_is_given_up_at_the_end_and_begun_again_afterwards() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let work = repository_with(&nodes("web", "web", 0..1));
    let url = format!("http://{}/fleet.git", silent.local_addr().unwrap());
    let there = RepositoryFields { repo_url: Some(url), ..fields("fleet-config", &work) };
    let repository = server.api.register(there).unwrap();
    let call = server.api.call(Operation::RepositorySync, &[&repository.id]).body(&json!({}));
    let run: RunEnvelope = server.api.send(call).unwrap();
    let (first, _) = silent.accept().unwrap();
    server.stop();
    drop(first);

    let server = installation.serve(&[]);
    let (second, _) = silent.accept().unwrap();
    assert_eq!(server.api.repository(&repository.id).unwrap().last_run_id, None);
    drop(second);
    drop(silent);
    let run = server.api.run(&run.sync_run.id).unwrap();
    let error = run.error.unwrap();
    assert_eq!(run.status.slug(), "failed");
    assert!(error.message.contains("Failed to clone"), "{error:?}");
    let started = server.api.events(0).unwrap();
    let started = started.iter().filter(|event| event.kind == "gitops.sync_started");
    assert_eq!(started.count(), 1);
    server.stop();
}

#[test]
fn git_that_cannot_be_reached_fails_the_run_and_changes_nothing() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let api = &server.api;
    let work = repository_with(&nodes("web", "web", 0..1));
    let id = register(api, "fleet-config", &work).id;
    api.apply_all(&id).unwrap();
    let good = api.repository(&id).unwrap();
    let (git, away) = (work.path().join(".git"), work.path().join("away"));
    fs::rename(&git, &away).unwrap();
    let run = api.sync(&id).unwrap();
    let error = run.error.unwrap();
    assert_eq!(run.status.slug(), "failed");
    assert!(error.message.contains("Failed to clone") && !error.help.is_empty(), "{error:?}");
    let after = api.repository(&id).unwrap();
    assert_eq!(after.last_status.slug(), "failed");
    assert_eq!(after.last_synced_revision, good.last_synced_revision);
    assert_eq!(api.resources().unwrap().len(), 2);
    let report = api.drift_report(&id);
    assert!(!report.drift && report.commit_sha == good.last_synced_revision, "{report:?}");
    fs::rename(&away, &git).unwrap();
    assert_eq!(api.sync(&id).unwrap().status.slug(), "success");
    server.stop();
}

#[test]
fn a_second_server_on_the_same_data_refuses_to_start() {
    let installation = Installation::new();
    let server = installation.serve(&[]);
    let second = installation.command("serve").args(["--listen", "127.0.0.1:0"]).output().unwrap();
    assert!(!second.status.success());
    let told = String::from_utf8_lossy(&second.stderr);
    assert!(told.contains("another Windlass server uses the data directory"), "{told}");
    assert!(server.api.resources().is_ok());
    server.stop();
}

/// A small file system; `None` if this user may not mount one.
struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    #[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
    fn mount() -> Option<SmallDisk> {
        let directory = tempfile::tempdir().unwrap();
        let mount = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
            .arg(directory.path())
            .output();
        match mount {
            Ok(Output { status, .. }) if status.success() => Some(SmallDisk(directory)),
            _ => {
                eprintln!("skipped: a file system cannot be mounted here");
                None
            }
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}

fn make_template(api: &Api, number: usize) -> crate::api::Result<()> {
    let body = json!({"name": format!("t-{number:05}"), "node_platform": "ubuntu-24.04-amd64"});
    api.create(Noun::NodeTemplate, &body).map(drop)
}

#[test]
fn a_full_disk_is_told_of_and_nothing_is_lost_by_it() {
    let Some(disk) = SmallDisk::mount() else { return };
    let installation = Installation::at(&disk.0.path().join("data"));
    let server = installation.serve(&[]);
    let api = &server.api;
    make_template(api, 0).unwrap();
    let filler = disk.0.path().join("filler");
    fill(&filler);
    // Space that the database has reserved can still be used.
    let mut made = 1;
    let refusal = loop {
        match make_template(api, made) {
            Ok(()) => made += 1,
            refusal => break refusal,
        }
    };
    let (status, message) = refused(refusal);
    assert_eq!(status, 503, "{message}");
    assert!(message.contains("the disk is full"), "{message}");
    let ready = || api.text(api.call(Operation::Ready, &[]));
    let (status, message) = refused(ready());
    assert_eq!(status, 503, "{message}");
    assert!(message.contains("not ready: ") && message.contains("writing"), "{message}");
    assert!(!message.contains("disk"), "anyone may ask, and learns only which part: {message}");
    let told: Status = api.send(api.call(Operation::Status, &[])).unwrap();
    assert!(told.waiting_for.iter().any(|reason| reason.contains("the disk is full")), "{told:?}");
    assert!(api.text(api.call(Operation::Health, &[])).is_ok());
    assert_eq!(api.resources().unwrap().len(), made, "what was acknowledged is there");
    fs::remove_file(&filler).unwrap();
    api.wait_for("being ready again", |_| ready().ok());
    make_template(api, made).unwrap();
    assert_eq!(api.resources().unwrap().len(), made + 1);
    let verdict: AuditVerdict = api.send(api.call(Operation::AuditVerify, &[])).unwrap();
    assert!(verdict.intact, "{verdict:?}");
    server.stop();
}

/// An unprivileged user that root can switch to.
const NOBODY: [&str; 3] = ["--reuid=65534", "--regid=65534", "--clear-groups"];

/// The program as a user who may not write everywhere; `None` if that is not possible.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn as_nobody(command: &Command) -> Option<Command> {
    let mut other = Command::new("setpriv");
    other.args(NOBODY).arg(command.get_program());
    let is_possible =
        Command::new("setpriv").args(NOBODY).arg(command.get_program()).arg("--version").output();
    if !is_possible.is_ok_and(|tried| tried.status.success()) {
        eprintln!("skipped: the program cannot be run as somebody else here");
        return None;
    }
    other.args(command.get_args());
    Some(other)
}

#[test]
fn a_data_directory_that_cannot_be_written_is_told_before_anything_is_begun() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    fs::set_permissions(directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = directory.path().join("data");
    let installation = Installation::at(&data);
    let mut command = installation.command("serve");
    command.args(["--listen", "127.0.0.1:0"]);
    let Some(mut absent) = as_nobody(&command) else { return };
    let told = |output: Output| {
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        assert!(!String::from_utf8_lossy(&output.stdout).contains("listens"));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let text = told(absent.output().unwrap());
    assert!(text.contains("cannot use the data directory") && text.contains("Permission denied"), "{text}");
    assert!(!data.exists());

    // A directory that somebody else created and filled.
    installation.serve(&[]).stop();
    for mode in [0o700, 0o555] {
        fs::set_permissions(&data, fs::Permissions::from_mode(mode)).unwrap();
        let text = told(as_nobody(&command).unwrap().output().unwrap());
        assert!(text.contains("cannot use the data directory"), "{mode:o}: {text}");
        assert!(text.contains(data.to_str().unwrap()), "{mode:o}: {text}");
    }
    let server = installation.serve(&[]);
    assert!(server.api.resources().is_ok(), "nothing was spoiled by trying");
    server.stop();
}
