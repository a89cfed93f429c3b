//! Errors of reading a remote.
//!
//! No error contains a credential. Text from a server is quoted, shortened and without control characters.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use windlass_outbound::ResolveError;

use super::mirror::MAX_OBJECT_BYTES;

/// Text from a server is untrusted; this much is enough to recognise a cause.
const MAX_QUOTED_CHARS: usize = 300;

/// The text by which an error of gix about a SHA-256 object id is recognised; it has no type of its own.
const SHA256_NAME: &str = "A hash sized 64 hexadecimal characters";

/// The text by which an error of gix about an object that is too large is recognised; it has no type of its own.
const TOO_LARGE: &str = "too large to fit in memory";

/// Why communication with a remote failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteProblem {
    /// The host's name has no address.
    #[error("could not resolve the host name `{host}`")]
    Dns {
        /// The host.
        host: String,
    },
    /// The host has an address that this server does not connect to.
    #[error(transparent)]
    AddressRefused(ResolveError),
    /// The host does not answer with TLS, ssh or git. The error does not say whether the port is closed, filtered,
    /// silent or used by another protocol: otherwise whoever may register a repository could scan the server's network
    /// for open ports.
    #[error("could not reach {host}")]
    Connect {
        /// The host.
        host: String,
        /// The error of the operating system, the TLS library or ssh: for the log and for admins.
        detail: String,
    },
    /// The server's certificate is rejected, or the server does not use TLS.
    #[error("no trusted TLS connection: {reason}")]
    Tls {
        /// The reason.
        reason: String,
    },
    /// The credential is missing or was rejected.
    #[error("login refused: {reason}")]
    Auth {
        /// The message of the server or of ssh.
        reason: String,
    },
    /// The host key differs from the pinned one.
    #[error("the ssh host key changed: pinned {pinned}, offered {offered}")]
    HostKeyMismatch {
        /// The pinned fingerprints.
        pinned: String,
        /// The fingerprints that the host offers.
        offered: String,
    },
    /// The repository has no such branch.
    #[error("the repository has no branch `{branch}`")]
    BranchMissing {
        /// The branch.
        branch: String,
    },
    /// The repository does not have this commit, or the server does not send it.
    #[error("the repository does not send commit {commit}")]
    CommitMissing {
        /// The commit.
        commit: String,
    },
    /// The repository does not exist, or the credential has no access to it.
    #[error("the repository does not exist, or this credential may not read it")]
    RepositoryMissing,
    /// The repository uses SHA-256 object ids.
    #[error("this repository uses SHA-256 object names, which Windlass cannot read")]
    ObjectFormat,
    /// The server sends more than the limits allow.
    #[error("the repository is too large: {reason}")]
    TooLarge {
        /// The limit.
        reason: String,
    },
    /// Other work uses up the server's memory. The repository is not the cause.
    #[error("the server has not enough free memory right now")]
    ServerMemory,
    /// It took longer than the limits allow.
    #[error("no complete response within {} s", after.as_secs())]
    Timeout {
        /// The limit.
        after: Duration,
    },
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The mirror's file system is full.
    #[error("no space left for the mirror")]
    DiskFull,
    /// The `ssh` or `ssh-keyscan` program is not installed.
    #[error("the `ssh` program is not installed on the server")]
    SshMissing,
    /// The server does not speak the git protocol, or violates it.
    #[error("cannot parse the server's response: {reason}")]
    Protocol {
        /// The violation.
        reason: String,
    },
    /// A local operation failed.
    #[error("cannot use the mirror: {reason}")]
    Local {
        /// The operation.
        reason: String,
    },
}

impl RemoteProblem {
    /// A stable code.
    pub fn code(&self) -> &'static str {
        match self {
            RemoteProblem::Dns { .. } => "dns",
            RemoteProblem::AddressRefused(refusal) => refusal.code(),
            RemoteProblem::Connect { .. } => "connect",
            RemoteProblem::Tls { .. } => "tls",
            RemoteProblem::Auth { .. } => "auth",
            RemoteProblem::HostKeyMismatch { .. } => "host-key-mismatch",
            RemoteProblem::BranchMissing { .. } => "branch-missing",
            RemoteProblem::CommitMissing { .. } => "commit-missing",
            RemoteProblem::RepositoryMissing => "repository-missing",
            RemoteProblem::ObjectFormat => "object-format",
            RemoteProblem::TooLarge { .. } => "too-large",
            RemoteProblem::ServerMemory => "server-memory",
            RemoteProblem::Timeout { .. } => "timeout",
            RemoteProblem::Interrupted => "interrupted",
            RemoteProblem::DiskFull => "disk-full",
            RemoteProblem::SshMissing => "ssh-missing",
            RemoteProblem::Protocol { .. } => "protocol",
            RemoteProblem::Local { .. } => "local",
        }
    }

    /// How to fix it.
    pub fn help(&self) -> &'static str {
        match self {
            RemoteProblem::Dns { .. } => "check the host in the repository URL and this server's DNS",
            RemoteProblem::AddressRefused(refusal) => refusal.help(),
            RemoteProblem::Connect { .. } => {
                "check scheme, host and port in the repository URL, and firewalls; see the server's log for the cause"
            }
            RemoteProblem::Tls { .. } => {
                "check that the certificate is valid for this host; add the CA of a private git server"
            }
            RemoteProblem::Auth { .. } => {
                "check the repository's credential: that it exists, has not expired and may read the repository"
            }
            RemoteProblem::HostKeyMismatch { .. } => {
                "ask the host's operator whether the key was replaced; if it was, forget the pinned key; if not, \
                    this may be an attack"
            }
            RemoteProblem::BranchMissing { .. } => "check the branch's name, or push the branch",
            RemoteProblem::CommitMissing { .. } => {
                "push the commit; if the git server sends only commits that a reference contains, use the reference \
                    instead"
            }
            RemoteProblem::RepositoryMissing => {
                "check the path in the repository URL, and that the credential may read the repository"
            }
            RemoteProblem::ObjectFormat => {
                "use a repository with SHA-1 object names, created with `git init --object-format=sha1`"
            }
            RemoteProblem::TooLarge { .. } => {
                "use a separate repository for the fleet, without binaries, or raise the limits"
            }
            RemoteProblem::Timeout { .. } => {
                "try again; if it persists, check the git server and the network"
            }
            RemoteProblem::ServerMemory => {
                "Windlass retries soon; if it persists, give the server more memory"
            }
            RemoteProblem::Interrupted => "no action needed: the next sync retries",
            RemoteProblem::DiskFull => "free space in the server's data directory",
            RemoteProblem::SshMissing => "install the OpenSSH client on the server, or use https",
            RemoteProblem::Protocol { .. } => "check that the repository URL is a git server",
            RemoteProblem::Local { .. } => "check the server's data directory and its permissions",
        }
    }
}

impl From<ResolveError> for RemoteProblem {
    fn from(error: ResolveError) -> RemoteProblem {
        match error {
            ResolveError::NotFound { host } => RemoteProblem::Dns { host },
            refused @ ResolveError::Refused { .. } => RemoteProblem::AddressRefused(refused),
        }
    }
}

impl RemoteProblem {
    /// Details that not everyone may read: for the server's log and for admins.
    pub fn detail(&self) -> Option<&str> {
        match self {
            RemoteProblem::Connect { detail, .. } => Some(detail),
            _ => None,
        }
    }

    /// Whether the problem is temporary and has nothing to do with the remote.
    pub fn is_transient(&self) -> bool {
        matches!(self, RemoteProblem::ServerMemory)
    }

    /// Reports a host that never sent a byte like a host that cannot be connected to.
    pub(super) fn no_bytes_received(self, host: &str, received: u64) -> RemoteProblem {
        match self {
            RemoteProblem::Timeout { after } if received == 0 => {
                let detail =
                    format!("it accepts connections but does not respond within {} s", after.as_secs());
                RemoteProblem::Connect { host: host.to_owned(), detail }
            }
            other => other,
        }
    }
}

/// A failed fetch. The mirror is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchError {
    /// The address, without its user.
    pub remote: String,
    /// The cause.
    pub problem: RemoteProblem,
}

impl FetchError {
    /// The stable code of the problem.
    pub fn code(&self) -> &'static str {
        self.problem.code()
    }

    /// How to fix it.
    pub fn help(&self) -> &'static str {
        self.problem.help()
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words that operators search for, the same for the first fetch and for later ones.
        write!(f, "Failed to clone {}: {}", self.remote, self.problem)
    }
}

impl Error for FetchError {}

/// Untrusted text on one line, without control characters, shortened.
pub(super) fn quote_remote_text(text: &str) -> String {
    let plain: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(MAX_QUOTED_CHARS).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The messages of an error and of its causes, joined.
pub(super) fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut said = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if said.last() != Some(&text) {
            said.push(text);
        }
        next = cause.source();
    }
    quote_remote_text(&said.join(": "))
}

/// The problem behind an error of gix that the transport did not explain: a full disk, or an invalid response.
pub(super) fn classify_gix_error(error: &gix::Error) -> RemoteProblem {
    let is_full = |error: &(dyn Error + 'static)| {
        error
            .downcast_ref::<std::io::Error>()
            .is_some_and(|error| error.kind() == std::io::ErrorKind::StorageFull)
    };
    if error.iter_errors().any(is_full) {
        return RemoteProblem::DiskFull;
    }
    let said: Vec<String> = error.iter_errors().map(ToString::to_string).collect();
    if said.iter().any(|text| text.contains(SHA256_NAME)) {
        return RemoteProblem::ObjectFormat;
    }
    if said.iter().any(|text| text.contains(TOO_LARGE)) {
        let reason = format!("an object of it has more than {} MiB", MAX_OBJECT_BYTES >> 20);
        return RemoteProblem::TooLarge { reason };
    }
    RemoteProblem::Protocol { reason: quote_remote_text(&said.join(": ")) }
}

/// The problem behind an error of the local file system.
pub(super) fn classify_io_error(doing: &str, error: &std::io::Error) -> RemoteProblem {
    match error.kind() {
        std::io::ErrorKind::StorageFull => RemoteProblem::DiskFull,
        _ => RemoteProblem::Local { reason: format!("{doing}: {error}") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_begin_with_the_words_operators_search_for() {
        let error = FetchError {
            remote: "https://example.com/fleet".into(),
            problem: RemoteProblem::RepositoryMissing,
        };
        assert!(error.to_string().starts_with("Failed to clone https://example.com/fleet: "));
    }

    #[test]
    fn what_a_server_says_is_one_short_line() {
        assert_eq!(quote_remote_text("a\u{1b}[31m\n  b\r\n"), "a [31m b");
        assert_eq!(quote_remote_text(&"x".repeat(1000)).len(), MAX_QUOTED_CHARS);
    }
}
