//! Real hosts for tests: Debian with systemd as the first process, or with none at all.
//!
//! A host with systemd is booted by `systemd-nspawn`; a plain host is a root directory with namespaces of its own, as
//! containers have. All hosts start from one root, which is made once and kept in the user's cache directory. What a host
//! writes is in memory. Each host has a network with the machine alone, and ends with the process that started it, even if
//! that is killed.

mod root;

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use super::are_installed;

const HOST_SCRIPT: &str = include_str!("host.sh");

/// Far longer than a boot takes, even on a busy machine.
const BOOT_TIMEOUT: Duration = Duration::from_secs(120);

/// Far longer than anything on a host takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// What a host needs.
const PROGRAMS: &[&str] =
    &["debootstrap", "systemd-nspawn", "unshare", "nsenter", "ip", "apt-get", "dpkg-deb"];

/// What runs a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostKind {
    /// systemd, as on a machine.
    Systemd,
    /// Nothing, as in a container.
    Plain,
}

impl HostKind {
    const fn word(self) -> &'static str {
        match self {
            HostKind::Systemd => "systemd",
            HostKind::Plain => "plain",
        }
    }
}

/// A running host. It ends when this is dropped, or with the process.
#[derive(Debug)]
pub struct TestHost {
    supervisor: Child,
    leader: u32,
    address: Ipv4Addr,
    machine_address: Ipv4Addr,
}

impl TestHost {
    /// A new host that has these programs: the file on this machine, and its path on the host. `None` where hosts cannot run;
    /// why is printed.
    ///
    /// # Panics
    ///
    /// In CI, where nothing may be skipped, when the host does not start.
    pub fn start(kind: HostKind, programs: &[(&Path, &str)]) -> Option<TestHost> {
        let host = can_run()
            .and_then(|()| root::cached())
            .and_then(|root| start_script(kind, &root, programs))
            .and_then(|host| if kind == HostKind::Systemd { host.wait_until_booted() } else { Ok(host) });
        host.map_err(|why| skipped(&why)).ok()
    }

    /// The address of the host, for the machine.
    pub fn address(&self) -> Ipv4Addr {
        self.address
    }

    /// The address of the machine, for the host.
    pub fn machine_address(&self) -> Ipv4Addr {
        self.machine_address
    }

    /// A file of the host, as the machine sees it. Absolute links in the path lead to the machine's own files.
    pub fn path(&self, path: &str) -> PathBuf {
        Path::new(&format!("/proc/{}/root", self.leader)).join(path.trim_start_matches('/'))
    }

    /// A command that runs on the host.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--target", &self.leader.to_string()]);
        command.args(["--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd", "--", program]);
        command.env_clear().env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
        command.env("LC_ALL", "C").env("HOME", "/root").stdin(Stdio::null());
        command
    }

    /// Runs a shell command on the host, to its end.
    pub fn output(&self, script: &str) -> Output {
        self.command("sh").args(["-c", script]).output().expect("nsenter was found before")
    }

    /// Runs a shell command that must succeed, and returns what it printed.
    ///
    /// # Panics
    ///
    /// When the command fails.
    pub fn run(&self, script: &str) -> String {
        let output = self.output(script);
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}: {}\n{stdout}\n{stderr}", output.status);
        stdout.trim_end().to_owned()
    }

    /// Waits until a shell command succeeds on the host, and returns what it printed.
    ///
    /// # Panics
    ///
    /// When it does not succeed in time.
    #[track_caller]
    pub fn wait_for(&self, script: &str) -> String {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let output = self.output(script);
            if output.status.success() {
                return String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
            }
            assert!(Instant::now() < deadline, "{script}: {output:?}");
        }
    }

    /// The answer of a web server on the host, from the machine's side of the network; `None` if nothing listens.
    pub fn http_get(&self, path: &str) -> Option<String> {
        let address = SocketAddr::from((self.address(), 80));
        let mut stream = TcpStream::connect_timeout(&address, DEADLINE).ok()?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: host\r\n\r\n").as_bytes()).ok()?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Lets the host reach another address of the machine, such as the machine's address on the network of another host.
    pub fn route_to(&self, machine_address: Ipv4Addr) {
        self.run(&format!("ip route replace {machine_address}/32 via {}", self.machine_address));
    }

    fn wait_until_booted(self) -> Result<TestHost, String> {
        let deadline = Instant::now() + BOOT_TIMEOUT;
        let mut last = String::new();
        while Instant::now() < deadline {
            // Waits itself, once the host answers at all. `degraded`: a unit does not work in a container.
            let output = self.output("systemctl is-system-running --wait");
            last = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).trim().to_owned();
            if matches!(last.as_str(), "running" | "degraded") {
                return Ok(self);
            }
        }
        Err(format!("the host does not boot: {last}"))
    }
}

impl Drop for TestHost {
    fn drop(&mut self) {
        drop(self.supervisor.stdin.take());
        let _ = self.supervisor.wait();
    }
}

fn can_run() -> Result<(), String> {
    if !nix::unistd::geteuid().is_root() {
        return Err("hosts need root".to_owned());
    }
    match are_installed(PROGRAMS) {
        true => Ok(()),
        false => Err("programs for hosts are not installed".to_owned()),
    }
}

/// Says what was not tested; in CI that is a failure.
#[expect(clippy::print_stderr, reason = "whoever runs the tests must see what was not tested")]
fn skipped(why: &str) {
    let in_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!in_ci, "{why}; nothing may be skipped in CI");
    eprintln!("skipped: {why}");
}

fn start_script(kind: HostKind, root: &Path, programs: &[(&Path, &str)]) -> Result<TestHost, String> {
    let text = |error: std::io::Error| error.to_string();
    let directory = tempfile::Builder::new().prefix("windlass-host-").tempdir().map_err(text)?;
    let mut log = tempfile::tempfile().map_err(text)?;
    let mut script = Command::new("unshare");
    script.args(["--mount", "--propagation", "private", "--", "sh", "-c", HOST_SCRIPT, "sh", kind.word()]);
    script.arg(root).arg(directory.path());
    script.args(programs.iter().map(|(file, path)| format!("{}:{path}", file.display())));
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log.try_clone().map_err(text)?);
    let mut supervisor = script.spawn().map_err(text)?;
    // From here on the script removes it; the script outlives this process.
    let _ = directory.keep();
    let mut said = String::new();
    if let Some(stdout) = supervisor.stdout.take() {
        BufReader::new(stdout).read_line(&mut said).map_err(text)?;
    }
    let words: Vec<&str> = said.split_whitespace().collect();
    let parsed = match words[..] {
        ["ready", leader, address, machine] => {
            leader.parse().ok().zip(address.parse().ok()).zip(machine.parse().ok())
        }
        _ => None,
    };
    let Some(((leader, address), machine_address)) = parsed else {
        let _ = supervisor.wait();
        return Err(format!("a host does not start: {}", text_of(&mut log)));
    };
    Ok(TestHost { supervisor, leader, address, machine_address })
}

fn text_of(log: &mut File) -> String {
    let mut bytes = Vec::new();
    let _ = log.rewind().and_then(|()| log.read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).trim().to_owned()
}
