//! Why the agent cannot read or change something on the host.

use std::error::Error;
use std::io;

use windlass_core::host::{BlobDigest, TemplateProblem};

/// Why the agent cannot read or change something on the host.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// The disk or the quota is full.
    #[error("cannot {action} {path}: the disk is full")]
    DiskFull {
        /// What the agent was doing, as a verb.
        action: &'static str,
        /// The path.
        path: String,
    },
    /// The file system is mounted read-only.
    #[error("cannot {action} {path}: the file system is read-only")]
    ReadOnly {
        /// What the agent was doing, as a verb.
        action: &'static str,
        /// The path.
        path: String,
    },
    /// Another error of the operating system.
    #[error("cannot {action} {path}")]
    Io {
        /// What the agent was doing, as a verb.
        action: &'static str,
        /// The path.
        path: String,
        /// The error.
        source: io::Error,
    },
    /// A path on the host has another type than expected, and the agent does not replace it.
    #[error("{path} is {found}: remove it, or use another path")]
    WrongPathType {
        /// The path.
        path: String,
        /// The type that the path has.
        found: &'static str,
    },
    /// A symbolic link on the way to a path leads to nothing below the root.
    #[error("{path} is a symbolic link that leads outside the root or to nothing")]
    LinkLeadsNowhere {
        /// The link.
        path: String,
    },
    /// A symbolic link that another user made leads to a directory that is not that user's.
    #[error(
        "a symbolic link of the user {uid} on the way to {path} leads to a directory of another user, so the agent does not \
         follow it"
    )]
    ForeignLink {
        /// The directory that the agent wanted to open.
        path: String,
        /// The user that owns the link.
        uid: u32,
    },
    /// A file that the agent reads as a whole is too large for that.
    #[error("{path} is larger than {} MiB", .limit / (1024 * 1024))]
    TooLarge {
        /// The file.
        path: String,
        /// The largest size, in bytes.
        limit: u64,
    },
    /// The content of a blob does not match its reference.
    #[error("the content of {digest} does not match its digest and size")]
    BlobMismatch {
        /// The digest that the content must have.
        digest: BlobDigest,
    },
    /// The content of a blob is not text.
    #[error("the content of {digest} is not UTF-8 text, so it cannot be a template")]
    BlobNotText {
        /// The digest of the blob.
        digest: BlobDigest,
    },
    /// A template of a blob cannot be filled.
    #[error("cannot fill the template: {0}")]
    Template(TemplateProblem),
    /// The host has no such user or group.
    #[error("there is no {what} {name} on this host")]
    UnknownAccount {
        /// `user` or `group`.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// The validation command rejected a file.
    #[error("the command `{command}` rejected the new file: {output}")]
    ValidationFailed {
        /// The command as the module declares it.
        command: String,
        /// The end of what it printed.
        output: String,
    },
    /// A command failed.
    #[error("`{command}` failed: {output}")]
    CommandFailed {
        /// The command.
        command: String,
        /// The end of what it printed, or how it ended.
        output: String,
    },
    /// A command cannot be started.
    #[error("cannot run `{command}`")]
    CommandNotStarted {
        /// The command.
        command: String,
        /// The error.
        source: io::Error,
    },
    /// Packages cannot be removed without removing others.
    #[error("removing {} would also remove {}, which nobody approved", .packages.join(", "), .others.join(", "))]
    PackageNeeded {
        /// The packages.
        packages: Vec<String>,
        /// The packages that need them.
        others: Vec<String>,
    },
    /// The package manager reported success, but the package is not as it should be.
    #[error("the package manager reported success, but {name} is {}", .found.as_deref().unwrap_or("not installed"))]
    PackageDiffers {
        /// The package.
        name: String,
        /// The installed version.
        found: Option<String>,
    },
    /// A service could not be started, stopped or changed otherwise.
    #[error("cannot {action} {unit}: {problem}")]
    ServiceFailed {
        /// What the agent was doing, as a verb.
        action: &'static str,
        /// The service.
        unit: String,
        /// What went wrong, and what the service wrote last.
        problem: String,
    },
    /// The service manager does not say in which state a service is.
    #[error("cannot read the state of {unit}: {problem}")]
    ServiceUnknown {
        /// The service.
        unit: String,
        /// What went wrong.
        problem: String,
    },
    /// Someone on the host has masked a service. The agent does not undo that.
    #[error(
        "{unit} is masked on this host, so nothing can start it: `systemctl unmask {unit}` allows it again"
    )]
    ServiceMasked {
        /// The service.
        unit: String,
    },
    /// The service manager cannot read the definitions of services again.
    #[error("cannot reload unit files: {0}")]
    ServiceManager(String),
    /// A file of the agent's own cannot be understood.
    #[error("{path} cannot be read: {problem}")]
    StateUnreadable {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Another agent holds the lock of the state directory.
    #[error("another agent works with {path}")]
    Locked {
        /// The state directory.
        path: String,
    },
    /// The item cannot be expressed on this host.
    #[error("{0}")]
    Unsupported(String),
}

impl HostError {
    /// An error of the operating system.
    pub(crate) fn io(
        action: &'static str,
        path: impl Into<String>,
        source: impl Into<io::Error>,
    ) -> HostError {
        let (path, source) = (path.into(), source.into());
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => HostError::DiskFull { action, path },
            io::ErrorKind::ReadOnlyFilesystem => HostError::ReadOnly { action, path },
            _ => HostError::Io { action, path, source },
        }
    }

    /// The error with its causes, in one line.
    pub fn with_causes(&self) -> String {
        let mut text = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            text.push_str(&format!(": {error}"));
            cause = error.source();
        }
        text
    }
}
