//! `test_remote` reports exactly which step of the connection fails.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::time::{Duration, Instant};

use support::{Remote, password};
use windlass_source::{CheckResult, Credential, PathPrefix, test_remote};
use windlass_testkit::servers::{GitHttps, GitSsh, WorkTree, free_port};

/// One word per step: the passed steps, then `!` and the failed one, then the number of steps not reached.
fn step_summary(remote: &Remote, prefix: &str) -> String {
    let checks = test_remote(&remote.options(), &PathPrefix::parse(prefix).unwrap(), Duration::ZERO);
    let told: Vec<String> = checks
        .iter()
        .map(|check| match &check.result {
            CheckResult::Passed(_) => check.name.to_owned(),
            CheckResult::Failed { reason, help, .. } => {
                assert!(!reason.is_empty() && !help.is_empty());
                format!("!{}", check.name)
            }
            CheckResult::NotReached => "-".to_owned(),
        })
        .collect();
    told.join(" ")
}

#[test]
fn a_closed_port_is_reported_no_sooner_than_a_firewalled_port() {
    let later = Duration::from_millis(300);
    for scheme in ["http", "ssh"] {
        let remote = Remote::at(&format!("{scheme}://127.0.0.1:{}/fleet.git", free_port()));
        let begun = Instant::now();
        let checks = test_remote(&remote.options(), &PathPrefix::parse("").unwrap(), later);
        assert!(matches!(checks[1].result, CheckResult::Failed { .. }), "{checks:?}");
        assert!(begun.elapsed() >= later, "{scheme} {:?}", begun.elapsed());
    }
}

fn repository() -> WorkTree {
    let work = WorkTree::new();
    work.commit("fleets/edge/fleet.yaml", "version: 1\n");
    work.commit("file", "not a directory\n");
    work
}

#[test]
fn a_remote_over_https_is_tried_step_by_step() {
    let Some(server) = GitHttps::start() else { return };
    repository().publish(&server.root(), "fleet.git");
    let good = || Remote::https(&server, "fleet.git");
    for (remote, prefix, expected) in [
        (good(), "fleets/edge", "dns connect tls auth repository branch download prefix fleet.yaml"),
        (good(), "", "dns connect tls auth repository branch download prefix !fleet.yaml"),
        (good(), "none", "dns connect tls auth repository branch download !prefix -"),
        (good(), "file", "dns connect tls auth repository branch download !prefix -"),
        (good().on("none"), "", "dns connect tls auth repository !branch - - -"),
        (Remote::https(&server, "none.git"), "", "dns connect tls auth !repository - - - -"),
        (Remote { credential: password("wrong"), ..good() }, "", "dns connect tls !auth - - - - -"),
        (Remote { ca: None, ..good() }, "", "dns connect !tls - - - - - -"),
        (Remote::at(&format!("https://127.0.0.1:{}/a", free_port())), "", "dns !connect - - - - - - -"),
        (Remote::at("https://windlass-no-such-host.invalid/a"), "", "!dns - - - - - - - -"),
    ] {
        assert_eq!(step_summary(&remote, prefix), expected, "{} {prefix}", remote.url);
    }
}

#[test]
fn a_remote_over_ssh_is_tried_step_by_step() {
    let Some(mut server) = GitSsh::start() else { return };
    repository().publish(&server.root(), "fleet.git");
    let good = Remote::ssh(&server, "fleet.git");
    assert_eq!(
        step_summary(&good, "fleets/edge"),
        "dns connect host-key auth repository branch download prefix fleet.yaml"
    );
    let nobody = Remote { credential: Credential::None, ..Remote::ssh(&server, "fleet.git") };
    assert_eq!(step_summary(&nobody, ""), "dns connect host-key !auth - - - - -");
    let pinned = windlass_source::HostKeys::parse(&server.host_key()).unwrap();
    server.replace_host_key();
    let mistrusted = Remote { host_keys: Some(pinned), ..good };
    assert_eq!(step_summary(&mistrusted, ""), "dns connect !host-key - - - - - -");
}
