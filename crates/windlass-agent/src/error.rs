//! Why the agent cannot do what it was asked, and what to do about it.

use crate::connection::{BadServerAddress, KeyError, RequestError};
use crate::state::StateError;
use crate::target::host::HostError;

/// Why the agent cannot do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The host has no identity yet.
    #[error("this host is not enrolled")]
    NotEnrolled,
    /// The host has an identity already.
    #[error("this host is enrolled already, as {target}")]
    AlreadyEnrolled {
        /// The node.
        target: String,
    },
    /// The file with the identity cannot be read.
    #[error("the agent's identity is lost: {problem}")]
    IdentityDamaged {
        /// What is wrong with the file.
        problem: String,
    },
    /// The enrolment key is not one.
    #[error("this is not an enrolment key: {problem}")]
    BadEnrolmentKey {
        /// What is wrong with it.
        problem: &'static str,
    },
    /// The address of the server cannot be used.
    #[error(transparent)]
    BadServerAddress(#[from] BadServerAddress),
    /// The agent cannot make or use a key.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The server cannot be reached, or refused.
    #[error("{server}: {source}")]
    Server {
        /// The origin of the server.
        server: String,
        /// What happened.
        source: RequestError,
    },
    /// The state directory cannot be used.
    #[error("{}", .0.with_cause())]
    State(#[from] StateError),
    /// The host cannot be used.
    #[error("{}", .0.with_causes())]
    Host(#[from] HostError),
    /// A file that was named on the command line cannot be used.
    #[error("{path}: {problem}")]
    Input {
        /// The file.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl AgentError {
    /// What to do about it, in one sentence.
    pub fn help(&self) -> String {
        match self {
            AgentError::NotEnrolled => {
                "run `windlass node enroll NAME` where you are signed in, and paste what it prints on this host".into()
            }
            AgentError::AlreadyEnrolled { .. } => {
                "to enrol it again with a new key, add `--again`".into()
            }
            AgentError::IdentityDamaged { .. } => {
                "enrol the host again: `windlass node enroll NAME` prints the line for it, add `--again`; nothing on the host \
                 is changed by that"
                    .into()
            }
            AgentError::BadEnrolmentKey { .. } => {
                "copy the whole line that `windlass node enroll NAME` printed".into()
            }
            AgentError::BadServerAddress(_) => "write it as https://windlass.example.com:3443".into(),
            AgentError::Key(_) => "look at the log for the reason".into(),
            AgentError::Server { source, .. } => source.help(),
            AgentError::State(StateError::Locked { .. }) => {
                "stop the other agent, or use another directory with `--state`".into()
            }
            AgentError::State(_) => {
                "the agent needs a directory of its own that it can write: run it as root, or use `--state DIR`".into()
            }
            AgentError::Host(_) => "run the agent as root, or on a directory tree with `--root DIR`".into(),
            AgentError::Input { .. } => "give a file that the server or `windlass node render` wrote".into(),
        }
    }
}
