//! Real servers for tests: started on a free port of the loopback interface, stopped when dropped.
//!
//! They are the programs that people run, with throw-away keys in temporary directories. Nothing outside those
//! directories is touched.

mod chromium;
mod forge;
mod git_https;
mod git_ssh;
mod hostile;
mod mail;
mod oidc;
mod postgres;
mod repository;
mod tls;
mod vault;

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

pub use chromium::Chromium;
pub use forge::{Flavour, PretendComment, PretendForge, Received};
pub use git_https::GitHttps;
pub use git_ssh::GitSsh;
pub use mail::MailServer;
pub use oidc::OidcServer;
pub use postgres::Postgres;
pub use repository::WorkTree;
pub use tls::{CertificateAuthority, TlsFront};
pub use vault::VaultServer;

/// A server that has not come up by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// Whether programs are installed. Says which are not, so that a test can return early; in CI that is a failure.
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

/// Where a program lies. Servers are often outside the path of ordinary users.
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

/// Runs a program to its end and returns what it printed.
fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program was found before");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A child process that ends with its owner.
struct Running(Child);

impl Running {
    fn start(command: &mut Command) -> Running {
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Running(child.expect("the program was found before"))
    }

    /// Waits until somebody answers on a port.
    fn wait_for_port(&mut self, port: u16) {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        self.wait_for(|| TcpStream::connect_timeout(&address, PATIENCE).is_ok());
    }

    /// Waits until a file is there.
    fn wait_for_file(&mut self, path: &Path) {
        self.wait_for(|| path.exists());
    }

    fn wait_for(&mut self, is_ready: impl Fn() -> bool) {
        let started = Instant::now();
        while !is_ready() {
            let ended = self.0.try_wait().expect("a child can be waited for");
            assert!(ended.is_none(), "the server ended: {ended:?}");
            assert!(started.elapsed() < PATIENCE, "the server does not answer");
            thread::yield_now();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
