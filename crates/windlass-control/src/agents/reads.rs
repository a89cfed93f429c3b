//! What requests of agents read, grouped: after a change of their template, ten thousand agents ask within a second.

use std::collections::BTreeMap;

use windlass_core::agent::Agent;
use windlass_core::id::{AccountId, AgentId};
use windlass_core::report::AcceptedTarget;
use windlass_core::resource::ResourceKey;
use windlass_store::{Store, StoreError, StoredAssignment};

use crate::grouped_reads::{GroupedReads, ReadMany};

/// A target, by account.
type TargetKey = (AccountId, ResourceKey);

/// The reads of requests of agents.
#[derive(Debug, Default)]
pub(crate) struct AgentReads {
    agents: GroupedReads<AgentId, Agent>,
    assignments: GroupedReads<TargetKey, AcceptedTarget>,
    assignments_to_sign: GroupedReads<TargetKey, StoredAssignment>,
}

impl AgentReads {
    /// The agent with this id, also if it was revoked.
    pub(crate) async fn agent(&self, store: &Store, id: &AgentId) -> Result<Option<Agent>, StoreError> {
        self.agents.read(id.clone(), AgentRows(store.clone())).await
    }

    /// The assignment of an agent's target; none if it never had one.
    pub(crate) async fn assignment(
        &self,
        store: &Store,
        agent: &Agent,
    ) -> Result<Option<AcceptedTarget>, StoreError> {
        self.assignments.read(target_of(agent), AssignmentRows(store.clone())).await
    }

    /// The same with its document and its approvals.
    pub(crate) async fn assignment_to_sign(
        &self,
        store: &Store,
        agent: &Agent,
    ) -> Result<Option<StoredAssignment>, StoreError> {
        self.assignments_to_sign.read(target_of(agent), WholeAssignmentRows(store.clone())).await
    }
}

fn target_of(agent: &Agent) -> TargetKey {
    (agent.account_id.clone(), agent.target.clone())
}

#[derive(Clone)]
struct AgentRows(Store);

impl ReadMany<AgentId, Agent> for AgentRows {
    async fn read(&self, ids: Vec<AgentId>) -> Result<BTreeMap<AgentId, Agent>, StoreError> {
        let agents = self.0.read().await?.agents_with_ids(&ids).await?;
        Ok(agents.into_iter().map(|agent| (agent.id.clone(), agent)).collect())
    }
}

#[derive(Clone)]
struct AssignmentRows(Store);

impl ReadMany<TargetKey, AcceptedTarget> for AssignmentRows {
    async fn read(&self, targets: Vec<TargetKey>) -> Result<BTreeMap<TargetKey, AcceptedTarget>, StoreError> {
        self.0.read().await?.assignments_of(&targets).await
    }
}

#[derive(Clone)]
struct WholeAssignmentRows(Store);

impl ReadMany<TargetKey, StoredAssignment> for WholeAssignmentRows {
    async fn read(
        &self,
        targets: Vec<TargetKey>,
    ) -> Result<BTreeMap<TargetKey, StoredAssignment>, StoreError> {
        self.0.read().await?.assignments_to_sign(&targets).await
    }
}
