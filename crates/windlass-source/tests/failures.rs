//! Each way a fetch can fail has its own code and help, and no error contains a secret.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use support::{Remote, TestMirror, password};
use windlass_core::address_guard::AddressRules;
use windlass_core::redacted::Redacted;
use windlass_outbound::AddressGuard;
use windlass_source::{CheckResult, Credential, FetchError, FetchLimits, FetchOptions, HostKeys, Movement};
use windlass_testkit::servers::{GitHttps, GitSsh, WorkTree, free_port};

fn repository() -> WorkTree {
    let work = WorkTree::new();
    work.commit("fleet.yaml", "version: 1\n");
    work
}

fn fails(remote: &Remote, code: &str) -> FetchError {
    let error = TestMirror::new().fetch(remote).unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().starts_with("Failed to clone "), "{error}");
    assert!(!error.help().is_empty());
    for text in [format!("{error}"), format!("{error:?}"), format!("{error:#?}")] {
        for secret in [GitHttps::PASSWORD, "planted-wrong", "PRIVATE KEY", "d2luZGxhc3M6"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    error
}

#[test]
fn over_https_each_failure_has_its_code() {
    let Some(server) = GitHttps::start() else { return };
    repository().publish(&server.root(), "fleet.git");
    let good = || Remote::https(&server, "fleet.git");
    fails(&Remote { credential: password("planted-wrong"), ..good() }, "auth");
    fails(&Remote { credential: Credential::None, ..good() }, "auth");
    let key = Redacted::new("PRIVATE KEY".to_owned());
    fails(&Remote { credential: Credential::SshKey { key, known_hosts: None }, ..good() }, "auth");
    fails(&Remote { ca: None, ..good() }, "tls");
    fails(&Remote { ca: Some("not a certificate".to_owned()), ..good() }, "tls");
    fails(&good().on("no/such-branch"), "branch-missing");
    fails(&Remote::https(&server, "missing.git"), "repository-missing");
    let over_plain = server.url("fleet.git").replace("https://", "http://");
    fails(&Remote { credential: password(GitHttps::PASSWORD), ..Remote::at(&over_plain) }, "auth");
}

#[test]
fn over_ssh_each_failure_has_its_code() {
    let Some(mut server) = GitSsh::start() else { return };
    repository().publish(&server.root(), "fleet.git");
    let pinned = TestMirror::new().fetch(&Remote::ssh(&server, "fleet.git")).unwrap().new_host_keys;
    let Some(other) = GitSsh::start() else { return };
    let stranger = Credential::SshKey { key: Redacted::new(other.key()), known_hosts: None };
    let good = || Remote { host_keys: pinned.clone(), ..Remote::ssh(&server, "fleet.git") };
    fails(&Remote { credential: stranger, ..good() }, "auth");
    fails(&Remote { credential: Credential::None, ..good() }, "auth");
    fails(&Remote { credential: password(GitHttps::PASSWORD), ..good() }, "auth");
    let nonsense = Credential::SshKey { key: Redacted::new("PRIVATE KEY".to_owned()), known_hosts: None };
    fails(&Remote { credential: nonsense, ..good() }, "auth");
    fails(&good().on("missing"), "branch-missing");
    fails(&Remote { host_keys: pinned.clone(), ..Remote::ssh(&server, "missing.git") }, "repository-missing");

    let remote = good();
    server.replace_host_key();
    let offered = HostKeys::parse(&server.host_key()).unwrap();
    let error = fails(&remote, "host-key-mismatch").to_string();
    assert!(error.contains(&offered.fingerprint()), "{error}");
    assert!(error.contains(&pinned.unwrap().fingerprint()), "{error}");
}

#[test]
fn known_hosts_in_the_credential_are_used() {
    let (Some(server), Some(other)) = (GitSsh::start(), GitSsh::start()) else { return };
    repository().publish(&server.root(), "fleet.git");
    let given = |host_key: &str| {
        let port = server.url("").rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
        let known_hosts = Some(format!("[127.0.0.1]:{port} {host_key}"));
        let credential = Credential::SshKey { key: Redacted::new(server.key()), known_hosts };
        Remote { credential, ..Remote::ssh(&server, "fleet.git") }
    };
    assert_eq!(TestMirror::new().fetch(&given(&server.host_key())).unwrap().new_host_keys, None);
    fails(&given(&other.host_key()), "host-key-mismatch");
}

#[test]
fn nobody_there_and_somebody_silent_or_other_are_told_alike() {
    for scheme in ["https", "ssh"] {
        fails(&Remote::at(&format!("{scheme}://windlass-no-such-host.invalid/fleet.git")), "dns");
        fails(&Remote::at(&format!("{scheme}://127.0.0.1:{}/fleet.git", free_port())), "connect");
    }
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let limits = FetchLimits { time: Duration::from_millis(300), ..FetchLimits::default() };
    for scheme in ["https", "ssh"] {
        let url = format!("{scheme}://{}/fleet.git", silent.local_addr().unwrap());
        let error = fails(&Remote { limits, ..Remote::at(&url) }, "connect");
        assert!(error.problem.detail().unwrap().contains("does not respond"), "{:?}", error.problem);
    }
    // A server that speaks neither TLS nor ssh.
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = other.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in other.incoming() {
            let _ = std::io::Write::write_all(&mut connection.unwrap(), b"-ERR unknown command\r\n");
        }
    });
    let closed = format!("127.0.0.1:{}", free_port());
    for scheme in ["https", "ssh", "http"] {
        let said = |place: &str| {
            let error = fails(&Remote::at(&format!("{scheme}://{place}/fleet.git")), "connect");
            (error.problem.to_string(), error.help())
        };
        assert_eq!(said(&place.to_string()), said(&closed), "{scheme}");
    }
}

#[test]
fn addresses_of_this_machine_and_of_clouds_are_refused_before_anything_connects() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let guard = || AddressGuard::new(AddressRules::default());
    for scheme in ["https", "http", "ssh"] {
        for host in [
            "127.0.0.1",
            "localhost",
            "127.1",
            "0x7f.0.0.1",
            "2130706433",
            "0177.0.0.1",
            "[::1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "0.0.0.0",
            "169.254.169.254",
            "[fd00:ec2::254]",
            "100.100.100.200",
        ] {
            let remote =
                Remote { guard: guard(), ..Remote::at(&format!("{scheme}://{host}:{port}/fleet.git")) };
            fails(&remote, "address-refused");
            let checks = windlass_source::test_remote(
                &remote.options(),
                &windlass_source::PathPrefix::parse("").unwrap(),
                std::time::Duration::ZERO,
            );
            assert!(matches!(checks[0].result, CheckResult::Failed { .. }), "{host}: {checks:?}");
            assert!(
                checks[1..].iter().all(|check| check.result == CheckResult::NotReached),
                "{host}: {checks:?}"
            );
        }
    }
    assert!(listener.accept().is_err(), "nobody was connected to");
}

#[test]
fn what_is_no_repository_is_told_so() {
    let root = tempfile::tempdir().unwrap();
    fails(&Remote::file(&root.path().join("missing.git")), "repository-missing");
    std::fs::create_dir(root.path().join("empty.git")).unwrap();
    fails(&Remote::file(&root.path().join("empty.git")), "repository-missing");
}

#[test]
fn a_fetch_over_its_limits_is_aborted_and_leaves_no_data() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    // Bytes that do not compress: digests of counters.
    let noise: String =
        (0..20_000_u32).map(|n| windlass_core::digest::Digest::of(&n.to_be_bytes()).to_string()).collect();
    work.commit("noise.bin", &noise);
    let bare = work.publish(root.path(), "fleet.git");
    for limits in [
        FetchLimits { bytes: 64 * 1024, ..FetchLimits::default() },
        FetchLimits { objects: 2, ..FetchLimits::default() },
    ] {
        let scratch = TestMirror::new();
        let error = scratch.fetch(&Remote { limits, ..Remote::file(&bare) }).unwrap_err();
        assert_eq!(error.code(), "too-large", "{error}");
        assert_eq!(scratch.packs(), Vec::<std::path::PathBuf>::new());
        assert_eq!(scratch.fetch(&Remote::file(&bare)).unwrap().movement, Movement::First);
    }
    if let Some(server) = GitHttps::start() {
        work.publish(&server.root(), "fleet.git");
        let limits = FetchLimits { bytes: 64 * 1024, ..FetchLimits::default() };
        fails(&Remote { limits, ..Remote::https(&server, "fleet.git") }, "too-large");
    }
}

#[test]
fn the_caller_can_stop_a_fetch() {
    let root = tempfile::tempdir().unwrap();
    let remote = Remote::file(&repository().publish(root.path(), "fleet.git"));
    let stop = AtomicBool::new(true);
    let options = FetchOptions { interrupt: &stop, ..remote.options() };
    let error = TestMirror::new().mirror.fetch(&options).unwrap_err();
    assert_eq!(error.code(), "interrupted");

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let remote = Remote::at(&format!("https://{}/fleet.git", silent.local_addr().unwrap()));
    let stop = AtomicBool::new(false);
    let options = FetchOptions { interrupt: &stop, ..remote.options() };
    let scratch = TestMirror::new();
    let error = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| scratch.mirror.fetch(&options).unwrap_err());
        // The connection was accepted, so the fetch is running.
        let _connection = silent.accept().unwrap();
        stop.store(true, Ordering::SeqCst);
        fetching.join().unwrap()
    });
    assert_eq!(error.code(), "interrupted");
}

#[test]
fn a_later_failure_says_the_same_and_keeps_what_was_there() {
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let bare = work.publish(root.path(), "fleet.git");
    let (scratch, remote) = (TestMirror::new(), Remote::file(&bare));
    let first = scratch.fetch(&remote).unwrap();
    std::fs::remove_dir_all(&bare).unwrap();
    let error = scratch.fetch(&remote).unwrap_err();
    assert_eq!(error.code(), "repository-missing");
    assert!(error.to_string().starts_with("Failed to clone "), "{error}");
    assert_eq!(scratch.mirror.tip(), Some(first.commit.clone()));
    assert!(scratch.mirror.commit(&first.commit).is_ok());
}

#[test]
fn settings_of_whoever_runs_the_server_are_not_used() {
    // A planted alternate is ignored, and a planted hook does not run.
    let (work, root) = (repository(), tempfile::tempdir().unwrap());
    let remote = Remote::file(&work.publish(root.path(), "fleet.git"));
    let scratch = TestMirror::new();
    let alternates = scratch.path().join("objects/info/alternates");
    std::fs::create_dir_all(alternates.parent().unwrap()).unwrap();
    std::fs::write(&alternates, format!("{}\n", work.path().join(".git/objects").display())).unwrap();
    scratch.fetch(&remote).unwrap();
    assert!(!alternates.exists());
    assert!(!scratch.packs().is_empty(), "the objects are in the mirror itself");
    assert!(!scratch.path().join("hooks").exists());
}

#[test]
fn a_repository_with_sha256_object_names_is_refused_as_that() {
    let root = tempfile::tempdir().unwrap();
    let work = WorkTree::with_sha256();
    work.commit("fleet.yaml", "version: 1\n");
    let bare = work.publish(root.path(), "fleet.git");
    let error = fails(&Remote::file(&bare), "object-format");
    assert!(error.to_string().contains("this repository uses SHA-256 object names, which"), "{error}");
    if let Some(server) = GitHttps::start() {
        work.publish(&server.root(), "fleet.git");
        fails(&Remote::https(&server, "fleet.git"), "object-format");
    }
    if let Some(server) = GitSsh::start() {
        work.publish(&server.root(), "fleet.git");
        fails(&Remote::ssh(&server, "fleet.git"), "object-format");
    }
}
