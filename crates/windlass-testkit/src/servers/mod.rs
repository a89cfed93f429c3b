//! Real servers for tests: started on a free port of the loopback interface, stopped when dropped.
//!
//! They are the programs that people run, with temporary keys in temporary directories. Nothing outside those
//! directories is changed.

mod chromium;
mod forge;
mod git_https;
mod git_ssh;
mod hostile;
mod hosts;
mod mail;
mod oidc;
mod postgres;
mod repository;
mod tls;
mod vault;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

pub use chromium::Chromium;
pub use forge::{FakeComment, FakeForge, ForgeFlavour, ReceivedRequest};
pub use git_https::GitHttps;
pub use git_ssh::GitSsh;
pub use hosts::{HostKind, TestHost};
pub use mail::MailServer;
pub use oidc::OidcServer;
pub use postgres::Postgres;
pub use repository::WorkTree;
pub use tls::{CertificateAuthority, TlsFront};
pub use vault::VaultServer;

use crate::process::ProcessExit;

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a server without output is polled: short enough not to delay tests, long enough not to keep a core busy.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Whether programs are installed. Prints which are missing, so that a test can return early; in CI that is a failure.
#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
pub fn are_installed(programs: &[&str]) -> bool {
    let missing: Vec<&str> = programs.iter().copied().filter(|program| find(program).is_none()).collect();
    if missing.is_empty() {
        return true;
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "not installed: {}", missing.join(", "));
    eprintln!("skipped: not installed: {}", missing.join(", "));
    false
}

/// The path of a program. Servers are often outside the `PATH` of ordinary users.
fn find(program: &str) -> Option<std::path::PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/sbin", "/usr/local/sbin"].map(std::path::PathBuf::from))
        .map(|directory| directory.join(program))
        .find(|candidate| candidate.is_file())
}

/// A port that was free a moment ago.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}

/// Runs a program to its end and returns its output.
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program was found before");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A child process that is stopped when this is dropped.
struct ChildProcess {
    child: Child,
    end: ProcessExit,
}

impl ChildProcess {
    fn start(command: &mut Command) -> ChildProcess {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let child = child.expect("the program was found before");
        ChildProcess { end: ProcessExit::watch(&child), child }
    }

    /// Waits until a port accepts connections.
    fn wait_for_port(&self, port: u16) {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        self.wait_for(|| TcpStream::connect_timeout(&address, START_TIMEOUT).is_ok());
    }

    /// Waits until a file exists.
    fn wait_for_file(&self, path: &Path) {
        self.wait_for(|| path.exists());
    }

    fn wait_for(&self, is_ready: impl Fn() -> bool) {
        self.poll("the server does not answer", START_TIMEOUT, || is_ready().then_some(()));
    }

    /// Polls until `look` returns something. Panics if the server exits first.
    fn poll<T>(&self, failure: &str, timeout: Duration, look: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(seen) = look() {
                return seen;
            }
            assert!(Instant::now() < deadline, "{failure}");
            assert!(!self.end.wait_at_most(POLL_INTERVAL), "the server ended");
        }
    }
}

impl ChildProcess {
    /// Stops the process, unless it has exited.
    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for ChildProcess {
    fn drop(&mut self) {
        self.stop();
    }
}
