//! What servers and agents refuse of each other, with the reason in a log and in an event. The hosts are directory trees.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use tempfile::TempDir;
use windlass_api::types::EventInfo;
use windlass_testkit::servers::Postgres;

use crate::agent_binary::agent_binary;
use crate::control_plane::ControlPlane;

const FILE: &str = "etc/motd.d/logo";

/// A node with a file of the repository.
fn sections(version: &str) -> String {
    format!(
        "modules:
  motd: {{version: {version}, host: {{files: {{/etc/motd.d/logo: {{source: files/logo}}}}}}}}
templates:
  edge: {{node_platform: debian-12-amd64, modules: [motd@live]}}
nodes:
  - {{hostname: edge-1, template: edge}}
"
    )
}

/// A directory tree that is a host, with its own agent.
struct TreeHost {
    root: TempDir,
}

impl TreeHost {
    fn new() -> TreeHost {
        TreeHost { root: tempfile::tempdir().unwrap() }
    }

    fn agent(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(agent_binary());
        command.args(arguments).arg("--root").arg(self.root.path());
        command.env_remove("WINDLASS_LOG").env_remove("JOURNAL_STREAM").output().unwrap()
    }

    /// Runs the line that `windlass node enroll` printed.
    fn enrol(&self, line: &str) -> Output {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["windlass-agent", "enroll", key] = words[..] else { panic!("{line}") };
        self.agent(&["enroll", key])
    }

    /// Has the agent do everything that there is to do.
    fn run_once(&self) -> Output {
        self.agent(&["run", "--once"])
    }

    fn path(&self, path: &str) -> PathBuf {
        self.root.path().join(path)
    }
}

#[track_caller]
fn check_end(output: &Output, code: i32, expected: &str) {
    let log = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{log}");
    assert!(log.contains(expected), "{log}");
}

/// A server, the address of its database, and a host that is in sync.
fn host_in_sync(postgres: &Postgres) -> (ControlPlane, String, TreeHost) {
    let url = postgres.fresh_database();
    let plane = ControlPlane::with_database(url.clone());
    plane.work.commit("files/logo", "approved\n");
    plane.approve_fleet(&sections("1.0.0"));
    let host = TreeHost::new();
    check_end(&host.enrol(&plane.windlass(&["node", "enroll", "edge-1"])), 0, "");
    check_end(&host.run_once(), 0, "accepted an assignment");
    assert_eq!(fs::read_to_string(host.path(FILE)).unwrap(), "approved\n");
    (plane, url, host)
}

fn reason_is<'r>(reason: &'r str) -> impl Fn(&EventInfo) -> bool + 'r {
    move |event| event.payload["reason"] == reason
}

#[test]
fn used_and_expired_tokens_are_refused() {
    let Some(postgres) = Postgres::shared() else { return };
    let (plane, url, host) = host_in_sync(postgres);
    let line = plane.windlass(&["node", "enroll", "edge-1"]);
    let (second, third) = (TreeHost::new(), TreeHost::new());
    check_end(&second.enrol(&line), 0, "");
    check_end(&third.enrol(&line), 69, "the server refused (403 enrolment-refused)");
    plane.wait_for_event("edge-1", "agent.enrolment_refused", reason_is("used_token"));

    let line = plane.windlass(&["node", "enroll", "edge-1"]);
    postgres.execute(&url, "UPDATE enrolment_tokens SET expires_at = 1 WHERE uses = 0");
    check_end(&third.enrol(&line), 69, "the server refused (403 enrolment-refused)");
    plane.wait_for_event("edge-1", "agent.enrolment_refused", reason_is("expired_token"));
    let log = plane.log();
    assert!(log.contains("used_token") && log.contains("expired_token"), "{log}");

    // The node was enrolled again on another machine: the first one is no longer its agent.
    check_end(&host.run_once(), 77, "the server revoked this agent");
    assert_eq!(fs::read_to_string(host.path(FILE)).unwrap(), "approved\n", "the host stays as it is");
    plane.wait_for_event("edge-1", "agent.certificate_refused", reason_is("revoked"));
    plane.stop();
}

#[test]
fn content_that_is_not_what_was_approved_is_refused() {
    let Some(postgres) = Postgres::shared() else { return };
    let (plane, url, host) = host_in_sync(postgres);
    // Someone with access to the database replaces approved content by other content.
    plane.work.commit("files/logo", "also approved\n");
    plane.approve_fleet(&sections("1.1.0"));
    plane.wait_for_generation("edge-1", 2);
    postgres
        .execute(&url, "UPDATE blobs SET stored = (SELECT stored FROM blobs WHERE size = 9) WHERE size = 14");
    check_end(&host.run_once(), 2, "tampered_blob");
    assert_eq!(fs::read_to_string(host.path(FILE)).unwrap(), "approved\n", "nothing was changed");
    plane.wait_for_event("edge-1", "agent.refused", reason_is("tampered_blob"));
    let node = plane.node("edge-1").node;
    assert_eq!(node.state.slug(), "failed", "{node:?}");
    assert!(node.reason.contains("is not what was approved"), "{node:?}");
    plane.stop();
}
