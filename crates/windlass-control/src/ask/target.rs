//! Targets: the status of nodes and clusters, from their observed and accepted state.

use windlass_core::agent::Agent;
use windlass_core::id::AccountId;
use windlass_core::observed::ObservedTarget;
use windlass_core::report::{DriftSummary, NodeAgent, NodeFacts, StatusReport, node_status};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

pub(crate) use crate::account_state::contact::OFFLINE_AFTER;
use crate::ask::node::records::load_drift;

/// A target and its status.
pub struct TargetState {
    /// The node or cluster.
    pub target: ResourceKey,
    /// The result of comparing observed with accepted.
    pub report: StatusReport,
    /// How many of its items differ in a way that someone accepted.
    pub accepted_items: u64,
}

/// Every target of an account that has an assignment, in key order. A target whose drift is accepted is in sync.
pub async fn target_states(
    reading: &mut Reading,
    account_id: &AccountId,
    now: Timestamp,
) -> Result<Vec<TargetState>, StoreError> {
    let assignments = reading.assignments(account_id).await?;
    if assignments.is_empty() {
        return Ok(Vec::new());
    }
    let observed = reading.observed_targets(account_id).await?;
    let agents = reading.agents(account_id).await?;
    let agents: ResourceMap<Agent> = agents.into_iter().map(|agent| (agent.target.clone(), agent)).collect();
    let drift = load_drift(reading, account_id, now).await?;
    let (never_reported, no_drift) = (ObservedTarget::default(), DriftSummary::default());
    let states = assignments.iter().map(|(kind, name, accepted)| {
        let agent = agents.get(kind, name).map_or(NodeAgent::NotEnrolled, |agent| NodeAgent::Enrolled {
            at: agent.enrolled_at,
            last_contact: agent.last_contact,
        });
        let drift = drift.get(kind, name).unwrap_or(&no_drift);
        let facts = NodeFacts {
            name,
            agent,
            assignment: Some(*accepted),
            problem: None,
            observed: observed.get(kind, name).unwrap_or(&never_reported),
            drift,
            failed: None,
            offline_after: OFFLINE_AFTER,
            now,
        };
        TargetState {
            target: ResourceKey::new(kind, name),
            report: node_status(&facts).report,
            accepted_items: drift.accepted,
        }
    });
    Ok(states.collect())
}
