//! How an agent works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::target::host::ServiceManagerKind;

/// Where a host keeps the agent's state.
pub(crate) const DEFAULT_STATE_DIR: &str = "/var/lib/windlass-agent";

/// What the agent works on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentTarget {
    /// The machine that it runs on, with what runs its services.
    Machine(ServiceManagerKind),
    /// A directory tree that stands for a machine.
    Tree(PathBuf),
}

/// How long the agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunLength {
    /// Until it is stopped.
    UntilStopped,
    /// Until it has applied its assignment and reported, or could not reach its server for so long.
    Once {
        /// How long it waits for its server.
        within: Duration,
    },
}

/// How an agent works.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// Where it keeps its identity, its assignment, its reports and its blobs.
    pub state_dir: PathBuf,
    /// What it works on.
    pub target: AgentTarget,
    /// The origin of the server, instead of the one that it was enrolled with. What it trusts stays the same.
    pub server: Option<String>,
    /// How often it looks at the host.
    pub interval: Duration,
    /// How long after a change that could cut it off it must have reached its server.
    pub confirm_within: Duration,
    /// How often it reports even if nothing changed, so that its server knows since when that is so.
    pub report_every: Duration,
    /// How many bytes of blobs it keeps that no assignment uses any more.
    pub cache_bytes: u64,
    /// Its own binary, as the host names it. A module file at this path upgrades the agent.
    pub executable: Option<PathBuf>,
    /// How long it runs.
    pub length: RunLength,
}

impl AgentOptions {
    /// The usual options.
    pub fn new(state_dir: impl Into<PathBuf>, target: AgentTarget) -> AgentOptions {
        AgentOptions {
            state_dir: state_dir.into(),
            target,
            server: None,
            interval: Duration::from_secs(60),
            confirm_within: Duration::from_secs(120),
            report_every: Duration::from_secs(600),
            cache_bytes: 256 * 1024 * 1024,
            executable: None,
            length: RunLength::UntilStopped,
        }
    }
}

impl AgentTarget {
    /// Where the state is kept if nobody says otherwise: a tree has it inside.
    pub fn default_state_dir(&self) -> PathBuf {
        match self {
            AgentTarget::Machine(_) => PathBuf::from(DEFAULT_STATE_DIR),
            AgentTarget::Tree(root) => {
                root.join(Path::new(DEFAULT_STATE_DIR).strip_prefix("/").unwrap_or(Path::new("")))
            }
        }
    }
}
