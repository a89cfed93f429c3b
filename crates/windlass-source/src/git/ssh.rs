//! The ssh transport, through the `ssh` program.
//!
//! The ssh configuration of user and machine is ignored. The key is in a private directory that is removed with the
//! [`SshLogin`]. The host must show a pinned key, or one that was learned just now because none was pinned yet. The
//! host is resolved and checked here; `ssh` gets the address and never resolves the name.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use windlass_core::redacted::Redacted;

use super::error::{RemoteProblem, classify_io_error, quote_remote_text};
use super::fetch_options::FetchOptions;
use super::limits::FetchGuard;
use super::private_files::{private_directory, write_private};
use super::process::{GitProcess, program};
use crate::remote::{Credential, HostKeys, RemoteUrl, known_name};

/// A host that takes longer to answer counts as down.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Everything that `ssh` needs for one login.
pub(super) struct SshLogin {
    directory: TempDir,
    address: SocketAddr,
    /// The name of the host in known_hosts.
    known_as: String,
    identity: Option<PathBuf>,
    trusted: HostKeySource,
}

/// The source of the trusted host keys.
enum HostKeySource {
    /// They were pinned before.
    Pinned(HostKeys),
    /// They were learned now, because none was pinned.
    Learned(HostKeys),
    /// They are in known_hosts lines of the credential.
    Given,
}

/// A host before its key is checked.
struct SshHost {
    trusted: HostKeySource,
    address: SocketAddr,
    known_as: String,
}

impl SshLogin {
    /// Resolves the host and writes the private key and the trusted host keys to files; asks the host for its keys if
    /// none is known.
    pub(super) fn prepare(
        options: &FetchOptions<'_>,
        fetch_guard: &Arc<FetchGuard>,
    ) -> Result<SshLogin, RemoteProblem> {
        let url = options.url;
        let (key, given) = match options.credential {
            Credential::None => (None, None),
            Credential::SshKey { key, known_hosts } => (Some(key), known_hosts.as_deref()),
            Credential::Basic { .. } => {
                let reason = "the credential is a password, but ssh needs a key".to_owned();
                return Err(RemoteProblem::Auth { reason });
            }
        };
        let address = choose_address(url, &options.guard.resolve(url.host(), url.effective_port())?)?;
        let trusted = match (options.host_keys, given.filter(|lines| !lines.trim().is_empty())) {
            (Some(keys), _) => HostKeySource::Pinned(keys.clone()),
            (None, Some(_)) => HostKeySource::Given,
            (None, None) => HostKeySource::Learned(fetch_host_keys(url, address, fetch_guard)?),
        };
        let known_hosts = match &trusted {
            HostKeySource::Pinned(keys) | HostKeySource::Learned(keys) => {
                keys.known_hosts(url.host(), url.effective_port())
            }
            HostKeySource::Given => given.unwrap_or_default().to_owned(),
        };
        let known_as = known_name(url.host(), url.effective_port());
        SshLogin::write(key, &known_hosts, SshHost { trusted, address, known_as })
            .map_err(|error| classify_io_error("writing the ssh key", &error))
    }

    fn write(key: Option<&Redacted<String>>, known_hosts: &str, known: SshHost) -> io::Result<SshLogin> {
        let directory = private_directory()?;
        write_private(&directory.path().join("known_hosts"), known_hosts)?;
        let identity = match key {
            None => None,
            Some(key) => {
                let path = directory.path().join("key");
                // OpenSSH rejects a key whose last line has no line end, which is easily lost when pasting.
                write_private(&path, &format!("{}\n", key.expose().trim_end()))?;
                Some(path)
            }
        };
        let SshHost { trusted, address, known_as } = known;
        Ok(SshLogin { directory, address, known_as, identity, trusted })
    }

    /// Host keys that were learned for this login.
    pub(super) fn learned_host_keys(&self) -> Option<&HostKeys> {
        match &self.trusted {
            HostKeySource::Learned(keys) => Some(keys),
            HostKeySource::Pinned(_) | HostKeySource::Given => None,
        }
    }

    /// The options of every `ssh` command, as pairs after `-o`.
    fn options(&self) -> Vec<String> {
        let quote = |path: &Path| format!("\"{}\"", path.display().to_string().replace('%', "%%"));
        let mut options: Vec<String> = [
            "BatchMode=yes",
            "StrictHostKeyChecking=yes",
            "GlobalKnownHostsFile=/dev/null",
            "UpdateHostKeys=no",
            "CheckHostIP=no",
            "IdentitiesOnly=yes",
            "IdentityAgent=none",
            "PreferredAuthentications=publickey",
            "ClearAllForwardings=yes",
            "PermitLocalCommand=no",
            "ControlMaster=no",
            "ControlPath=none",
            "ServerAliveInterval=15",
            "SendEnv=GIT_PROTOCOL",
        ]
        .map(str::to_owned)
        .to_vec();
        options.push(format!("ConnectTimeout={}", CONNECT_TIMEOUT.as_secs()));
        // Connects to the address that was checked and not to the name, which may resolve to another address by now.
        options.push(format!("HostName={}", self.address.ip()));
        options.push(format!("HostKeyAlias={}", self.known_as));
        options.push(format!("UserKnownHostsFile={}", quote(&self.directory.path().join("known_hosts"))));
        let identity = self.identity.as_deref().map_or_else(|| "none".to_owned(), quote);
        options.push(format!("IdentityFile={identity}"));
        options
    }

    /// The command that runs `git-upload-pack` on the host.
    pub(super) fn upload_pack(&self, url: &RemoteUrl) -> Command {
        let mut command = program("ssh");
        command.args(["-F", "/dev/null", "-T"]);
        for option in self.options() {
            command.args(["-o", &option]);
        }
        command.args(["-p", &url.effective_port().to_string()]);
        if let Some(user) = url.user() {
            command.args(["-l", user]);
        }
        command.arg("--").arg(url.host());
        command.arg(format!("git-upload-pack {}", shell_quote(url.path())));
        command.env("GIT_PROTOCOL", "version=2");
        command
    }

    /// The same command as one line for git, which runs it in a shell.
    pub(super) fn command_line(&self) -> String {
        let mut words = vec!["ssh".to_owned(), "-F".to_owned(), "/dev/null".to_owned()];
        for option in self.options() {
            words.push("-o".to_owned());
            words.push(shell_quote(&option));
        }
        words.join(" ")
    }

    /// Classifies the error message of `ssh`.
    pub(super) fn explain(
        &self,
        stderr: &str,
        url: &RemoteUrl,
        fetch_guard: &Arc<FetchGuard>,
    ) -> RemoteProblem {
        let says = |words: &[&str]| words.iter().any(|word| stderr.contains(word));
        let reason = || last_error_line(stderr);
        if says(&["Could not resolve hostname"]) {
            RemoteProblem::Dns { host: url.host().to_owned() }
        } else if says(&[
            "Host key verification failed",
            "REMOTE HOST IDENTIFICATION HAS CHANGED",
            "No ECDSA host key is known",
            "host key is known for",
        ]) {
            self.host_key_problem(url, fetch_guard)
        } else if says(&["Permission denied (", "Too many authentication failures", "Load key"]) {
            RemoteProblem::Auth { reason: reason() }
        } else if says(&[
            "Connection refused",
            "connect to host",
            "No route to host",
            "Connection timed out",
            "Connection closed by",
            "Connection reset by",
            "kex_exchange_identification",
            "Network is unreachable",
        ]) {
            RemoteProblem::Connect { host: url.host().to_owned(), detail: reason() }
        } else if says(&[
            "not appear to be a git repository",
            "not found",
            "No such file",
            "does not exist",
            "Could not read from remote",
        ]) {
            RemoteProblem::RepositoryMissing
        } else {
            RemoteProblem::Protocol { reason: reason() }
        }
    }

    fn host_key_problem(&self, url: &RemoteUrl, fetch_guard: &Arc<FetchGuard>) -> RemoteProblem {
        let pinned = match &self.trusted {
            HostKeySource::Pinned(keys) | HostKeySource::Learned(keys) => keys.fingerprint(),
            HostKeySource::Given => "the credential's known_hosts".to_owned(),
        };
        let offered = fetch_host_keys(url, self.address, fetch_guard)
            .map_or_else(|_| "an unknown key".to_owned(), |keys| keys.fingerprint());
        RemoteProblem::HostKeyMismatch { pinned, offered }
    }
}

/// The line with the cause: the last one that is not git's general advice.
fn last_error_line(stderr: &str) -> String {
    let advice = [
        "Please make sure you have the correct access rights",
        "and the repository exists",
        "fatal: Could not read",
    ];
    let line = stderr
        .lines()
        .map(str::trim)
        .rfind(|line| !line.is_empty() && !advice.iter().any(|advice| line.starts_with(advice)));
    match line {
        Some(line) => quote_remote_text(line),
        None => "the connection closed without a message".to_owned(),
    }
}

/// The address to connect to: if there are several, the first that accepts a connection.
fn choose_address(url: &RemoteUrl, addresses: &[SocketAddr]) -> Result<SocketAddr, RemoteProblem> {
    let unreached = |detail: String| RemoteProblem::Connect { host: url.host().to_owned(), detail };
    if let [only] = addresses {
        return Ok(*only);
    }
    let mut last = "it has no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(*address),
            Err(error) => last = error.to_string(),
        }
    }
    Err(unreached(last))
}

/// Asks a host for its keys.
fn fetch_host_keys(
    url: &RemoteUrl,
    address: SocketAddr,
    fetch_guard: &Arc<FetchGuard>,
) -> Result<HostKeys, RemoteProblem> {
    let mut command = program("ssh-keyscan");
    let patience = fetch_guard.time_left().min(CONNECT_TIMEOUT).as_secs().max(1);
    command.args(["-T", &patience.to_string(), "-p", &address.port().to_string()]);
    command.arg("--").arg(address.ip().to_string());
    let (printed, ended) = GitProcess::run(command, fetch_guard).map_err(|error| start_problem(&error))?;
    if let Some(problem) = fetch_guard.stop_reason() {
        return Err(problem);
    }
    let keys: String = printed
        .lines()
        .filter(|line| HostKeys::parse(line).is_ok())
        .map(|line| format!("{line}\n"))
        .collect();
    // A host without keys is not an ssh server or cannot be reached; both are reported alike.
    HostKeys::parse(&keys).map_err(|_| {
        let detail = format!("could not get the ssh host key: {}", last_error_line(&ended.stderr));
        RemoteProblem::Connect { host: url.host().to_owned(), detail }
    })
}

/// The problem when `ssh` cannot be started.
pub(super) fn start_problem(error: &io::Error) -> RemoteProblem {
    match error.kind() {
        io::ErrorKind::NotFound => RemoteProblem::SshMissing,
        _ => classify_io_error("starting ssh", error),
    }
}

/// Quotes a text as one word of a shell command.
fn shell_quote(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn login(key: &str) -> SshLogin {
        let key = Redacted::new(key.to_owned());
        let address = SocketAddr::from(([203, 0, 113, 7], 22));
        let known = SshHost { trusted: HostKeySource::Given, address, known_as: "example.com".to_owned() };
        SshLogin::write(Some(&key), "h ssh-ed25519 AAAA\n", known).expect("a temporary directory")
    }

    #[test]
    fn the_key_file_is_private_and_deleted_after_use() {
        let login = login("a key without a last line end");
        let path = login.identity.clone().expect("a key");
        let mode = |path: &Path| std::fs::metadata(path).expect("exists").permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(login.directory.path())), (0o600, 0o700));
        assert!(std::fs::read_to_string(&path).expect("readable").ends_with("end\n"));
        drop(login);
        assert!(!path.exists());
    }

    #[test]
    fn the_address_is_passed_to_ssh_only_after_the_double_dash() {
        let url = RemoteUrl::parse("git@example.com:it's/fleet.git", crate::remote::InsecureUrls::Refused)
            .expect("valid");
        let command = login("k").upload_pack(&url);
        let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
        let end = words.iter().position(|word| word == "--").expect("options end");
        assert_eq!(&words[end + 1..], ["example.com", "git-upload-pack 'it'\\''s/fleet.git'"]);
        assert!(words.contains(&"StrictHostKeyChecking=yes".to_owned()));
        assert!(!words.iter().any(|word| word.contains("StrictHostKeyChecking=no")));
        assert!(words.contains(&"HostName=203.0.113.7".to_owned()), "ssh resolves no name");
        assert!(words.contains(&"HostKeyAlias=example.com".to_owned()));
    }
}
