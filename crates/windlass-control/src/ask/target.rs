//! Targets: the status of nodes and clusters, from their observed and accepted state.

use std::time::Duration;

use windlass_core::id::AccountId;
use windlass_core::observed::{LastContact, ObservedTarget};
use windlass_core::report::{StatusReport, TargetFacts, target_report};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{Reading, StoreError};

/// How long an agent may be out of contact before its target counts as offline.
const OFFLINE_AFTER: Duration = Duration::from_secs(90);

/// A target and its status.
pub struct TargetState {
    /// The node or cluster.
    pub target: ResourceKey,
    /// The result of comparing observed with accepted.
    pub report: StatusReport,
}

/// Every target of an account that has an assignment, in key order.
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
    let contacts: ResourceMap<LastContact> =
        agents.into_iter().map(|agent| (agent.target, agent.last_contact)).collect();
    let never_reported = ObservedTarget::default();
    let states = assignments.iter().map(|(kind, name, accepted)| {
        let facts = TargetFacts {
            accepted: *accepted,
            observed: observed.get(kind, name).unwrap_or(&never_reported),
            last_contact: contacts.get(kind, name).copied().unwrap_or(LastContact::Never),
            offline_after: OFFLINE_AFTER,
            now,
        };
        TargetState { target: ResourceKey::new(kind, name), report: target_report(&facts) }
    });
    Ok(states.collect())
}
