//! What a decision about rollouts needs to know about each node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use windlass_core::assign::{ApprovedFleet, AssignDecision, AssignedBefore};
use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_core::observed::{LastContact, ObservedTarget};
use windlass_core::report::{ContactState, StatusReport, SyncState, TargetFacts, target_report};
use windlass_core::resource::{Kind, ResourceMap, Spec};
use windlass_core::rollout::{AppliedState, Governing, NodeToAssign, RolloutNodeState};
use windlass_core::time::Timestamp;
use windlass_core::value::Labels;
use windlass_store::{AssignmentProblem, Reading, StoreError, StoredRollout};

use crate::account_state::contact::OFFLINE_AFTER;

static NO_LABELS: LazyLock<Labels> = LazyLock::new(Labels::new);

/// How far each node is with what it is assigned.
pub(crate) struct NodeStatuses {
    nodes: BTreeMap<String, NodeStatus>,
}

struct NodeStatus {
    assigned: Digest,
    is_offline: bool,
    applied: AppliedState,
}

impl NodeStatuses {
    pub(crate) async fn load(
        reading: &mut Reading,
        account_id: &AccountId,
        now: Timestamp,
    ) -> Result<NodeStatuses, StoreError> {
        let assignments = reading.assignments(account_id).await?;
        let observed = reading.observed_targets(account_id).await?;
        let agents = reading.agents(account_id).await?;
        let contacts: ResourceMap<LastContact> =
            agents.into_iter().map(|agent| (agent.target, agent.last_contact)).collect();
        let never_reported = ObservedTarget::default();
        let nodes = assignments.of_kind(Kind::Node).map(|(name, accepted)| {
            let facts = TargetFacts {
                accepted: *accepted,
                observed: observed.get(Kind::Node, name).unwrap_or(&never_reported),
                last_contact: contacts.get(Kind::Node, name).copied().unwrap_or(LastContact::Never),
                offline_after: OFFLINE_AFTER,
                now,
            };
            (name.to_owned(), NodeStatus::new(accepted.digest, &target_report(&facts)))
        });
        Ok(NodeStatuses { nodes: nodes.collect() })
    }
}

impl NodeStatus {
    /// A node that drifted applied its document: what somebody changed afterwards is no fault of the change.
    fn new(assigned: Digest, report: &StatusReport) -> NodeStatus {
        let applied = match &report.last_known {
            SyncState::InSync { .. } | SyncState::Drifted { .. } => AppliedState::InSync,
            SyncState::Failed { message, .. } => AppliedState::Failed { message: message.to_string() },
            SyncState::Applying { .. } | SyncState::Unknown(_) => AppliedState::Applying,
        };
        let is_offline = match report.contact {
            ContactState::Current => false,
            ContactState::Never | ContactState::Lost { .. } => true,
        };
        NodeStatus { assigned, is_offline, applied }
    }
}

/// Everything that is known when documents were made.
pub(crate) struct NodesToDecide<'a> {
    pub(crate) fleet: &'a ApprovedFleet,
    pub(crate) before: &'a AssignedBefore,
    pub(crate) decision: &'a AssignDecision,
    pub(crate) governing: &'a BTreeMap<String, Arc<Governing>>,
    pub(crate) statuses: &'a NodeStatuses,
}

impl<'a> NodesToDecide<'a> {
    /// The nodes of rollouts, and those whose documents are new.
    pub(crate) fn with(&self, holding: &[StoredRollout]) -> BTreeMap<String, NodeToAssign<'a>> {
        let new: BTreeMap<&str, Digest> =
            self.decision.changed.iter().map(|new| (new.node.as_str(), new.digest)).collect();
        let members = holding.iter().flat_map(|stored| stored.rollout.nodes.keys());
        let names: BTreeSet<&str> = members.map(String::as_str).chain(new.keys().copied()).collect();
        names
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), self.node(name, new.get(name).copied())?)))
            .collect()
    }

    /// One node; none if it does not exist any more.
    fn node(&self, name: &str, new: Option<Digest>) -> Option<NodeToAssign<'a>> {
        let accepted = self.fleet.accepted.resources.get(Kind::Node, name);
        let assigned = self.before.documents.get(name).copied();
        let is_unmade = self.decision.problems.contains_key(name);
        let wanted = match new {
            Some(new) => Some(new),
            None if accepted.is_none() => return None,
            None if is_unmade => None,
            None => assigned,
        };
        let labels = match accepted.map(|accepted| accepted.spec.as_ref()) {
            Some(Spec::Node(node)) => &node.labels,
            _ => &NO_LABELS,
        };
        let status = self.statuses.nodes.get(name);
        Some(NodeToAssign {
            wanted,
            assigned,
            labels,
            governed_by: self.governing.get(name).cloned(),
            is_offline: status.is_none_or(|status| status.is_offline),
            applied: status.map_or(AppliedState::Applying, |status| status.applied.clone()),
        })
    }
}

/// The nodes of rollouts if what they shall get did not change since it was last decided.
pub(crate) fn nodes_of_rollouts<'a>(
    holding: &[StoredRollout],
    statuses: &NodeStatuses,
    problems: &ResourceMap<AssignmentProblem>,
) -> BTreeMap<String, NodeToAssign<'a>> {
    let members = holding.iter().flat_map(|stored| &stored.rollout.nodes);
    members
        .filter(|(_, member)| member.state != RolloutNodeState::Left)
        .map(|(name, member)| {
            let status = statuses.nodes.get(name);
            let node = NodeToAssign {
                wanted: (!problems.contains(Kind::Node, name)).then_some(member.document),
                assigned: status.map(|status| status.assigned),
                labels: &NO_LABELS,
                governed_by: None,
                is_offline: status.is_none_or(|status| status.is_offline),
                applied: status.map_or(AppliedState::Applying, |status| status.applied.clone()),
            };
            (name.clone(), node)
        })
        .collect()
}
