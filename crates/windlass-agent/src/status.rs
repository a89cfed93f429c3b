//! What an agent holds, read from its state directory without disturbing it.

use std::path::Path;

use serde::Serialize;
use windlass_api::agent::{AgentIdentity, DriftedItem};
use windlass_core::time::Timestamp;

use crate::cycle::{ASSIGNMENT, Held, OUTBOX};
use crate::error::AgentError;
use crate::identity::read_identity;
use crate::report::Outbox;
use crate::state::{StateFiles, Stored};
use crate::surroundings::DiskHooks;

/// What an agent holds.
#[derive(Clone, Debug, Serialize)]
pub struct AgentStatus {
    /// Who it is.
    pub identity: AgentIdentity,
    /// Its server.
    pub server: String,
    /// The generation that it accepted last; 0 before the first.
    pub accepted: u64,
    /// The generation in force; another one after a change was taken back.
    pub in_force: Option<u64>,
    /// How far it is with it.
    pub step: &'static str,
    /// Why the node is not what its server wants.
    pub failure: Option<String>,
    /// When its server last acknowledged a report, by the agent's clock.
    pub last_report: Option<Timestamp>,
    /// The items that differ.
    pub drift: Vec<DriftedItem>,
    /// What is wrong with the state directory.
    pub problems: Vec<String>,
}

/// Reads what the agent holds.
pub fn status(state_dir: &Path) -> Result<AgentStatus, AgentError> {
    if !state_dir.exists() {
        return Err(AgentError::NotEnrolled);
    }
    let files = StateFiles::open(state_dir, DiskHooks::default())?;
    let identity = read_identity(&files)?;
    let mut problems = Vec::new();
    let held: Option<Held> = usable(files.read(ASSIGNMENT)?, &mut problems);
    let outbox: Option<Outbox> = usable(files.read(OUTBOX)?, &mut problems);
    let held = held.filter(|held| held.agent == identity.identity.agent_id);
    let outbox = outbox.filter(|outbox| *outbox.agent() == identity.identity.agent_id);
    let view = outbox.as_ref().map(Outbox::view);
    Ok(AgentStatus {
        server: identity.server,
        identity: identity.identity,
        accepted: held.as_ref().map_or(0, Held::accepted_generation),
        in_force: held.as_ref().and_then(|held| Some(held.current.as_ref()?.generation)),
        step: held.as_ref().map_or("nothing assigned yet", |held| held.step.label()),
        failure: view.and_then(|view| Some(view.target.failure.as_ref()?.message.clone())),
        last_report: outbox.as_ref().and_then(Outbox::heard_at),
        drift: view.map(|view| view.drift.clone()).unwrap_or_default(),
        problems,
    })
}

fn usable<T>(stored: Stored<T>, problems: &mut Vec<String>) -> Option<T> {
    match stored {
        Stored::Nothing => None,
        Stored::Newest(value) => Some(value),
        Stored::VersionBefore(value) => {
            problems.push("a state file is damaged; this is the version before".to_owned());
            Some(value)
        }
        Stored::Damaged(problem) => {
            problems.push(problem);
            None
        }
    }
}

/// Whether an agent can work with this state directory: a new binary runs this before it takes over.
pub fn self_check(state_dir: &Path) -> Result<(), AgentError> {
    status(state_dir)?;
    let files = StateFiles::open(state_dir, DiskHooks::default())?;
    let identity = read_identity(&files)?;
    identity.client_config()?;
    Ok(())
}
