//! The agent's own files in its state directory.
//!
//! Each file has a digest of its content and a copy of the version before, so a torn file is noticed and never read as an
//! empty one. Other modules decide what the files mean.

mod files;
mod lock;

pub(crate) use files::{StateFiles, Stored};
pub(crate) use lock::AgentLock;

use std::io;

/// Why the agent cannot use its state directory.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The operating system says no.
    #[error("cannot {action} {path}")]
    Io {
        /// What the agent was doing, as a verb.
        action: &'static str,
        /// The path.
        path: String,
        /// The error.
        source: io::Error,
    },
    /// Another agent uses the directory.
    #[error("another agent works with {path}")]
    Locked {
        /// The state directory.
        path: String,
    },
}

impl StateError {
    pub(crate) fn io(
        action: &'static str,
        path: &std::path::Path,
        source: impl Into<io::Error>,
    ) -> StateError {
        StateError::Io { action, path: path.display().to_string(), source: source.into() }
    }

    /// The error and its cause in one line, with plain words for what a person can fix.
    pub fn with_cause(&self) -> String {
        match self {
            StateError::Io { source, .. } => {
                let cause = match source.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        "the disk is full".to_owned()
                    }
                    io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only".to_owned(),
                    _ => source.to_string(),
                };
                format!("{self}: {cause}")
            }
            StateError::Locked { .. } => self.to_string(),
        }
    }
}
