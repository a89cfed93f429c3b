//! Why a remote could not be read: one problem, told so that its reader knows what to do.
//!
//! Nothing here holds a credential. What a server said is quoted, but cut short and stripped of control characters.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use windlass_outbound::ResolveError;

use super::mirror::MAX_OBJECT_BYTES;

/// What a server says is hostile text; this much of it is enough to recognise a cause.
const MAX_QUOTED_CHARS: usize = 300;

/// What gix says, in words alone, when it meets an object name of SHA-256.
const SHA256_NAME: &str = "A hash sized 64 hexadecimal characters";

/// What gix says, in words alone, when an object would take more memory than it may.
const TOO_LARGE: &str = "too large to fit in memory";

/// What stood in the way of talking to a remote.
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
    /// Nobody who speaks TLS, ssh or git answers. Whether the port is closed, filtered, silent or somebody else's is not
    /// told: else whoever may register a repository could look for open ports in the server's network.
    #[error("could not reach {host}")]
    Connect {
        /// The host.
        host: String,
        /// What the operating system, the TLS library or ssh said: for the log and for admins.
        detail: String,
    },
    /// The server's certificate is not accepted, or there is no TLS.
    #[error("no trusted TLS connection: {reason}")]
    Tls {
        /// What was wrong with it.
        reason: String,
    },
    /// The credential is missing or was refused.
    #[error("login refused: {reason}")]
    Auth {
        /// What the server or ssh said.
        reason: String,
    },
    /// The host shows another key than the pinned one.
    #[error("the ssh host key changed: pinned {pinned}, offered {offered}")]
    HostKeyMismatch {
        /// Fingerprints that were pinned.
        pinned: String,
        /// Fingerprints the host offers now.
        offered: String,
    },
    /// The repository has no such branch.
    #[error("the repository has no branch `{branch}`")]
    BranchMissing {
        /// The branch.
        branch: String,
    },
    /// The repository has no such commit, or does not send it.
    #[error("the repository does not send commit {commit}")]
    CommitMissing {
        /// The commit.
        commit: String,
    },
    /// There is no repository at the address, or it is hidden.
    #[error("the repository does not exist, or this credential may not read it")]
    RepositoryMissing,
    /// The repository names its objects by SHA-256.
    #[error("this repository uses SHA-256 object names, which Windlass cannot read")]
    ObjectFormat,
    /// The server sends more than the limits allow.
    #[error("the repository is too large: {reason}")]
    TooLarge {
        /// Which limit.
        reason: String,
    },
    /// The server's memory is used up by other work. Nothing is wrong with the repository.
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
    /// The other side does not speak git, or speaks it wrongly.
    #[error("cannot parse the server's response: {reason}")]
    Protocol {
        /// What was wrong.
        reason: String,
    },
    /// Something on this machine failed.
    #[error("cannot use the mirror: {reason}")]
    Local {
        /// What failed.
        reason: String,
    },
}

impl RemoteProblem {
    /// A word for it that never changes.
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

    /// What to do about it.
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
    /// What is in the way in more words than everyone may read: for the server's log and for admins.
    pub fn detail(&self) -> Option<&str> {
        match self {
            RemoteProblem::Connect { detail, .. } => Some(detail),
            _ => None,
        }
    }

    /// Whether it passes by itself and says nothing about the remote.
    pub fn is_transient(&self) -> bool {
        matches!(self, RemoteProblem::ServerMemory)
    }

    /// A host that never sent a byte is told like one that cannot be connected to.
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

/// A fetch that failed. The mirror is as it was before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchError {
    /// The address, without its user.
    pub remote: String,
    /// What was in the way.
    pub problem: RemoteProblem,
}

impl FetchError {
    /// A word for the problem that never changes.
    pub fn code(&self) -> &'static str {
        self.problem.code()
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        self.problem.help()
    }
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The words that operators search for, the first time and every time after.
        write!(f, "Failed to clone {}: {}", self.remote, self.problem)
    }
}

impl Error for FetchError {}

/// A foreign text on one line, without control characters, cut short.
pub(super) fn quote_remote_text(text: &str) -> String {
    let plain: String =
        text.chars().map(|char| if char.is_control() { ' ' } else { char }).take(MAX_QUOTED_CHARS).collect();
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// All an error and its causes say, joined.
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

/// What a failure of gix means when no transport said why: a full disk, or an answer that makes no sense.
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

/// What a failure of this machine's files means.
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
