//! Tests a remote before it is registered: which steps of the connection work, and which one fails.

use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use windlass_core::manifest::FLEET_FILE;

use super::error::RemoteProblem;
use super::fetch_options::FetchOptions;
use super::mirror::Mirror;
use crate::entry::{EntryKind, ReadError};
use crate::remote::{PathPrefix, RemoteScheme, RemoteUrl};
use crate::tree::FileTree as _;

/// A host of which no address accepts a connection within this time counts as down.
pub const TEST_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckResult {
    /// The step works; the text says what was found.
    Passed(String),
    /// The step failed.
    Failed {
        /// The reason.
        reason: String,
        /// How to fix it.
        help: String,
        /// The cause with details that not everyone may read: for the server's log and for admins.
        detail: Option<String>,
    },
    /// The step was not tried, because an earlier one failed.
    NotReached,
}

/// One step of the connection test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionCheck {
    /// The step: `dns`, `connect`, `tls`, `host-key`, `auth`, `repository`, `branch`, `download`, `prefix` or
    /// `fleet.yaml`.
    pub name: &'static str,
    /// Its result.
    pub result: CheckResult,
}

/// Tests every step from the address to the fleet file and reports how far it got. Steps that do not apply to the
/// scheme are left out. Nothing is kept: the fetch uses a temporary mirror.
///
/// An unreachable host is reported exactly `report_unreachable_after` the start of connecting, not earlier. With
/// [`TEST_CONNECT_TIMEOUT`], the response time then does not reveal whether a port is closed or filtered.
pub fn test_remote(
    options: &FetchOptions<'_>,
    prefix: &PathPrefix,
    report_unreachable_after: Duration,
) -> Vec<ConnectionCheck> {
    let mut walk =
        CheckWalk { steps: steps(options.url), done: Vec::new(), connecting_since: None, connected: None };
    let outcome = fetch_test(options, prefix, &mut walk);
    if let Err(failure) = outcome {
        if let Some(since) = walk.connecting_since.filter(|_| failure.step == CONNECT) {
            std::thread::sleep(report_unreachable_after.saturating_sub(since.elapsed()));
        }
        walk.fail(failure);
    }
    walk.finish()
}

/// The step that connects to the host.
const CONNECT: &str = "connect";

/// The step that failed, with its error.
struct CheckFailure {
    step: &'static str,
    reason: String,
    help: String,
    detail: Option<String>,
}

impl CheckFailure {
    fn of(problem: &RemoteProblem) -> CheckFailure {
        CheckFailure {
            step: step_of(problem),
            reason: problem.to_string(),
            help: problem.help().to_owned(),
            detail: problem.detail().map(str::to_owned),
        }
    }

    fn at(step: &'static str, reason: String, help: impl Into<String>) -> CheckFailure {
        CheckFailure { step, reason, help: help.into(), detail: None }
    }
}

struct CheckWalk {
    steps: Vec<&'static str>,
    done: Vec<ConnectionCheck>,
    connecting_since: Option<Instant>,
    /// The address that accepted the connection. It is reported only after the host spoke TLS, ssh or git.
    connected: Option<SocketAddr>,
}

impl CheckWalk {
    /// Marks every step up to and including this one as passed.
    fn pass(&mut self, step: &'static str, detail: impl Into<String>) {
        self.pass_before(step);
        self.done.push(ConnectionCheck { name: step, result: CheckResult::Passed(detail.into()) });
    }

    /// Marks every step before this one as passed.
    fn pass_before(&mut self, step: &'static str) {
        while let Some(next) = self.steps.get(self.done.len()).filter(|next| **next != step) {
            let found = match (*next, self.connected) {
                (CONNECT, Some(address)) => address.to_string(),
                _ => String::new(),
            };
            self.done.push(ConnectionCheck { name: next, result: CheckResult::Passed(found) });
        }
    }

    fn fail(&mut self, failure: CheckFailure) {
        let CheckFailure { step, reason, help, detail } = failure;
        self.pass_before(step);
        self.done.push(ConnectionCheck { name: step, result: CheckResult::Failed { reason, help, detail } });
    }

    fn finish(mut self) -> Vec<ConnectionCheck> {
        for step in self.steps.iter().skip(self.done.len()) {
            self.done.push(ConnectionCheck { name: step, result: CheckResult::NotReached });
        }
        self.done
    }
}

fn steps(url: &RemoteUrl) -> Vec<&'static str> {
    let way: &[&str] = match url.scheme() {
        RemoteScheme::Https => &["dns", CONNECT, "tls", "auth"],
        RemoteScheme::Ssh => &["dns", CONNECT, "host-key", "auth"],
        RemoteScheme::Http => &["dns", CONNECT, "auth"],
        RemoteScheme::File => &[],
    };
    let rest = ["repository", "branch", "download", "prefix", FLEET_FILE];
    way.iter().chain(&rest).copied().collect()
}

/// The step that a problem belongs to.
fn step_of(problem: &RemoteProblem) -> &'static str {
    match problem {
        RemoteProblem::Dns { .. } | RemoteProblem::AddressRefused(_) => "dns",
        RemoteProblem::Connect { .. } => CONNECT,
        RemoteProblem::Tls { .. } => "tls",
        RemoteProblem::HostKeyMismatch { .. } | RemoteProblem::SshMissing => "host-key",
        RemoteProblem::Auth { .. } => "auth",
        RemoteProblem::RepositoryMissing | RemoteProblem::ObjectFormat | RemoteProblem::Protocol { .. } => {
            "repository"
        }
        RemoteProblem::BranchMissing { .. } | RemoteProblem::CommitMissing { .. } => "branch",
        RemoteProblem::TooLarge { .. }
        | RemoteProblem::ServerMemory
        | RemoteProblem::Timeout { .. }
        | RemoteProblem::Interrupted
        | RemoteProblem::DiskFull
        | RemoteProblem::Local { .. } => "download",
    }
}

fn fetch_test(
    options: &FetchOptions<'_>,
    prefix: &PathPrefix,
    walk: &mut CheckWalk,
) -> Result<(), CheckFailure> {
    let local =
        |error: &dyn std::error::Error| CheckFailure::of(&RemoteProblem::Local { reason: error.to_string() });
    resolve_and_connect(options, walk).map_err(|problem| CheckFailure::of(&problem))?;
    let directory = super::private_files::private_directory().map_err(|error| local(&error))?;
    let mirror = Mirror::open_or_create(&directory.path().join("mirror")).map_err(|error| local(&error))?;
    let fetched = mirror.fetch(options).map_err(|error| CheckFailure::of(&error.problem))?;
    if let Some(keys) = fetched
        .new_host_keys
        .as_ref()
        .or(options.host_keys)
        .filter(|_| options.url.scheme() == RemoteScheme::Ssh)
    {
        walk.pass("host-key", keys.fingerprint());
    }
    let info = mirror.commit(&fetched.commit).map_err(|error| local(&error))?;
    walk.pass("branch", format!("{} {}", options.revision, fetched.commit));
    walk.pass("download", format!("{} bytes; {}", fetched.received_bytes, info.subject));
    let tree = mirror.tree(&fetched.commit, prefix).map_err(|error| local(&error))?;
    check_prefix_and_fleet(&tree, prefix, walk)
}

/// Resolves the name and connects, as steps of their own: so that DNS errors are distinguished, and a host that is down
/// is reported quickly.
fn resolve_and_connect(options: &FetchOptions<'_>, walk: &mut CheckWalk) -> Result<(), RemoteProblem> {
    let url = options.url;
    let is_proxied = url.scheme() == RemoteScheme::Https
        && ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
            .iter()
            .any(|name| std::env::var_os(name).is_some());
    if url.scheme() == RemoteScheme::File || is_proxied {
        return Ok(());
    }
    let found = options.guard.resolve(url.host(), url.effective_port())?;
    walk.pass("dns", found.first().map(|first| first.ip().to_string()).unwrap_or_default());
    let begun = Instant::now();
    walk.connecting_since = Some(begun);
    let mut detail = "no address responds".to_owned();
    for address in &found {
        let left = TEST_CONNECT_TIMEOUT.saturating_sub(begun.elapsed());
        if left.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(address, left) {
            Ok(_) => {
                walk.connected = Some(*address);
                return Ok(());
            }
            Err(error) => detail = error.to_string(),
        }
    }
    Err(RemoteProblem::Connect { host: url.host().to_owned(), detail })
}

fn check_prefix_and_fleet(
    tree: &super::GitTree,
    prefix: &PathPrefix,
    walk: &mut CheckWalk,
) -> Result<(), CheckFailure> {
    let broken = |step, error: ReadError| CheckFailure::at(step, error.source.to_string(), "try again");
    match tree.entry("").map_err(|error| broken("prefix", error))? {
        Some(EntryKind::Directory) if prefix.as_str().is_empty() => {
            walk.pass("prefix", "the repository's root");
        }
        Some(EntryKind::Directory) => walk.pass("prefix", prefix.as_str()),
        found => {
            let reason = match found {
                None => format!("the branch has no directory `{prefix}`"),
                Some(_) => format!("`{prefix}` is not a directory"),
            };
            return Err(CheckFailure::at("prefix", reason, "check the path prefix of the repository"));
        }
    }
    match tree.entry(FLEET_FILE).map_err(|error| broken(FLEET_FILE, error))? {
        Some(EntryKind::File(bytes)) => walk.pass(FLEET_FILE, format!("{bytes} bytes")),
        Some(_) => {
            let reason = format!("{FLEET_FILE} is not a regular file");
            return Err(CheckFailure::at(FLEET_FILE, reason, "commit the content itself"));
        }
        None => {
            let reason = format!("{FLEET_FILE} does not exist");
            let help = format!("add a {FLEET_FILE}, or set the path prefix to the directory that has one");
            return Err(CheckFailure::at(FLEET_FILE, reason, help));
        }
    }
    Ok(())
}
