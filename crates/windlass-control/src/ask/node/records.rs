//! Loads what determines the status of nodes.

use std::collections::BTreeMap;

use windlass_core::agent::Agent;
use windlass_core::drift::ItemKey;
use windlass_core::id::AccountId;
use windlass_core::observed::ObservedTarget;
use windlass_core::report::{
    AcceptedTarget, AssignmentProblem, DriftSummary, FailedModule, FirstDrift, NodeAgent, NodeFacts,
    NodeStatus, node_status,
};
use windlass_core::resource::{Kind, NodeSpec, ResourceKey, ResourceMap, Spec};
use windlass_core::time::Timestamp;
use windlass_store::{DriftHead, NodeReport, Reading, Resource, ResourceFilter, StoreError};

use crate::ask::target::OFFLINE_AFTER;

/// What is known of the nodes of an account.
pub struct NodeRecords {
    assignments: ResourceMap<AcceptedTarget>,
    problems: ResourceMap<AssignmentProblem>,
    observed: ResourceMap<ObservedTarget>,
    agents: ResourceMap<Agent>,
    reports: ResourceMap<NodeReport>,
    drift: ResourceMap<DriftSummary>,
    accepted: BTreeMap<ResourceKey, Vec<ItemKey>>,
    now: Timestamp,
}

/// A node with what is known of it.
pub struct NodeRecord {
    /// The accepted resource.
    pub resource: Resource,
    /// Its agent.
    pub agent: Option<Agent>,
    /// What is assigned to it.
    pub assignment: Option<AcceptedTarget>,
    /// Its reports.
    pub report: NodeReport,
    /// What was observed.
    pub observed: ObservedTarget,
    /// Its drift.
    pub drift: DriftSummary,
    /// Its status.
    pub status: NodeStatus,
}

impl NodeRecord {
    /// The node's spec.
    pub fn spec(&self) -> Option<&NodeSpec> {
        match self.resource.spec.as_ref() {
            Spec::Node(spec) => Some(spec),
            _ => None,
        }
    }
}

/// The nodes of an account, by name.
pub(crate) async fn node_resources(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<Vec<Resource>, StoreError> {
    let filter = ResourceFilter { kind: Some(Kind::Node), ..ResourceFilter::default() };
    reading.resources_page(account_id, &filter, None, i32::MAX as usize).await
}

impl NodeRecords {
    /// Loads what is known of all nodes of an account, without their modules and items.
    pub async fn load(
        reading: &mut Reading,
        account_id: &AccountId,
        now: Timestamp,
    ) -> Result<NodeRecords, StoreError> {
        let agents = reading.agents(account_id).await?;
        let reports = reading.node_reports(account_id).await?;
        let accepted = accepted_items(reading, account_id, now).await?;
        Ok(NodeRecords {
            assignments: reading.assignments(account_id).await?,
            problems: assignment_problems(reading, account_id).await?,
            observed: reading.observed_targets(account_id).await?,
            agents: agents.into_iter().map(|agent| (agent.target.clone(), agent)).collect(),
            drift: drift_summaries(reading, account_id, &reports, &accepted).await?,
            reports,
            accepted,
            now,
        })
    }

    /// A node with its status. The reason names no module and no item.
    pub fn record(&self, resource: &Resource) -> NodeRecord {
        let (kind, name) = (Kind::Node, resource.key.name.as_str());
        let report = self.reports.get(kind, name).cloned().unwrap_or_default();
        let drift = self.drift.get(kind, name).cloned().unwrap_or_default();
        let mut record = NodeRecord {
            resource: resource.clone(),
            agent: self.agents.get(kind, name).cloned(),
            assignment: self.assignments.get(kind, name).copied(),
            report,
            observed: self.observed.get(kind, name).cloned().unwrap_or_default(),
            drift,
            status: NodeStatus { report: unknown(), reason: String::new() },
        };
        record.status = self.status(&record, None);
        record
    }

    fn status(&self, record: &NodeRecord, failed: Option<&FailedModule>) -> NodeStatus {
        let name = record.resource.key.name.as_str();
        let agent = record.agent.as_ref().map_or(NodeAgent::NotEnrolled, |agent| NodeAgent::Enrolled {
            at: agent.enrolled_at,
            last_contact: agent.last_contact,
        });
        node_status(&NodeFacts {
            name,
            agent,
            assignment: record.assignment,
            problem: self.problems.get(Kind::Node, name),
            observed: &record.observed,
            drift: &record.drift,
            failed,
            offline_after: OFFLINE_AFTER,
            now: self.now,
        })
    }

    /// Loads the modules and items of some nodes, so that their reasons name them.
    pub async fn complete(
        &self,
        reading: &mut Reading,
        account_id: &AccountId,
        records: &mut [NodeRecord],
    ) -> Result<(), StoreError> {
        let keys: Vec<ResourceKey> = records.iter().map(|record| record.resource.key.clone()).collect();
        let targets: Vec<_> = keys.iter().map(|key| (account_id, key)).collect();
        let mut observed = reading.observed_of(&targets).await?;
        let mut heads = reading.node_drift_heads(&targets).await?;
        for (record, key) in records.iter_mut().zip(keys) {
            let target = (account_id.clone(), key);
            if let Some(found) = observed.remove(&target) {
                record.observed = found;
            }
            let heads = heads.remove(&target).unwrap_or_default();
            let accepted = self.accepted.get(&target.1).map_or(&[][..], Vec::as_slice);
            record.drift.first = first_drift(&heads, accepted);
            let failed = failed_module(&record.observed, record.assignment);
            record.status = self.status(record, failed.as_ref());
        }
        Ok(())
    }

    /// The time at which everything was loaded.
    pub fn now(&self) -> Timestamp {
        self.now
    }
}

fn unknown() -> windlass_core::report::StatusReport {
    use windlass_core::report::{ContactState, StatusReport, SyncState, UnknownReason};
    StatusReport {
        contact: ContactState::Never,
        last_known: SyncState::Unknown(UnknownReason::NeverReported),
    }
}

/// Why documents could not be made for nodes. The code that assigns documents stores none yet, so there are none.
async fn assignment_problems(
    _reading: &mut Reading,
    _account_id: &AccountId,
) -> Result<ResourceMap<AssignmentProblem>, StoreError> {
    Ok(ResourceMap::default())
}

/// The drift of every target of an account in numbers.
pub(crate) async fn load_drift(
    reading: &mut Reading,
    account_id: &AccountId,
    now: Timestamp,
) -> Result<ResourceMap<DriftSummary>, StoreError> {
    let reports = reading.node_reports(account_id).await?;
    let accepted = accepted_items(reading, account_id, now).await?;
    drift_summaries(reading, account_id, &reports, &accepted).await
}

async fn drift_summaries(
    reading: &mut Reading,
    account_id: &AccountId,
    reports: &ResourceMap<NodeReport>,
    accepted: &BTreeMap<ResourceKey, Vec<ItemKey>>,
) -> Result<ResourceMap<DriftSummary>, StoreError> {
    let items = reading.node_drift_counts(account_id).await?;
    let summary = |kind, name: &str, report: &NodeReport| {
        let key = ResourceKey::new(kind, name);
        let accepted = accepted.get(&key).map_or(0, Vec::len) as u64;
        let open = items.get(kind, name).copied().unwrap_or(0).saturating_sub(accepted);
        (key, DriftSummary { open, accepted, left_out: report.drift_left_out, first: None })
    };
    Ok(reports.iter().map(|(kind, name, report)| summary(kind, name, report)).collect())
}

/// The items of each target that differ as someone accepted.
async fn accepted_items(
    reading: &mut Reading,
    account_id: &AccountId,
    now: Timestamp,
) -> Result<BTreeMap<ResourceKey, Vec<ItemKey>>, StoreError> {
    let mut accepted: BTreeMap<ResourceKey, Vec<ItemKey>> = BTreeMap::new();
    for one in reading.node_drift_accepted(account_id).await? {
        if one.current.is_some_and(|digest| one.acceptance.holds(digest, now)) {
            accepted.entry(one.target).or_default().push(one.acceptance.item);
        }
    }
    Ok(accepted)
}

/// The item that differs for the longest time, of those that nobody accepted.
fn first_drift(heads: &[DriftHead], accepted: &[ItemKey]) -> Option<FirstDrift> {
    let open = heads.iter().filter(|head| !accepted.contains(&head.item));
    let first = open.min_by_key(|head| (head.since, &head.item))?;
    Some(FirstDrift { item: first.item.clone(), module: first.module.clone(), since: first.since })
}

/// The first module that could not be applied in the assigned generation.
fn failed_module(observed: &ObservedTarget, assignment: Option<AcceptedTarget>) -> Option<FailedModule> {
    let generation = assignment?.generation;
    observed.resources.iter().find_map(|(_, name, stored)| {
        let failure = stored.observation.failure.as_ref()?;
        (failure.generation == generation)
            .then(|| FailedModule { name: name.to_owned(), message: failure.message.clone() })
    })
}
