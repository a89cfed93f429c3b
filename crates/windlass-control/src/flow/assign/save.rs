//! Stores what was decided for the nodes of an account: new documents, reasons, and the end of assignments.

use std::time::Duration;

use windlass_core::assign::{AssignDecision, NodeAssignment};
use windlass_core::event::Severity;
use windlass_core::id::AccountId;
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_store::{AssignmentProblem, Lease, NewAssignment, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::flow::assign::blocked::record_blocked;

/// Longer than deciding and saving ten thousand documents takes.
pub(crate) const LEASE: Duration = Duration::from_secs(60);

/// Documents in one transaction: others can write in between.
const AT_ONCE: usize = 1_000;

/// Stores a decision, and wakes the agents whose assignments changed. Writes nothing if nothing changed.
pub(crate) async fn save_decision(
    server: &Control,
    account_id: &AccountId,
    lease: &Lease,
    decision: &AssignDecision,
    problems: &ResourceMap<AssignmentProblem>,
) -> Result<(), StoreError> {
    for chunk in decision.changed.chunks(AT_ONCE) {
        server.store().lease_renew(lease, now(), LEASE).await?;
        save_assignments(server, account_id, lease, chunk).await?;
        server.nudges().agents.notify_one();
    }
    save_problems(server, account_id, lease, decision, problems).await
}

fn key_of(node: &str) -> ResourceKey {
    ResourceKey::new(Kind::Node, node)
}

async fn save_assignments(
    server: &Control,
    account_id: &AccountId,
    lease: &Lease,
    changed: &[NodeAssignment],
) -> Result<(), StoreError> {
    let targets: Vec<ResourceKey> = changed.iter().map(|new| key_of(&new.node)).collect();
    let new: Vec<NewAssignment<'_>> = changed
        .iter()
        .zip(&targets)
        .map(|(new, target)| NewAssignment {
            target,
            document: &new.document,
            digest: new.digest,
            own_approvals: &new.own,
            shared_approvals: &new.shared,
        })
        .collect();
    let mut writing = server.store().write().await?;
    writing.lease_check(lease).await?;
    writing.assignments_put(account_id, &new, now()).await?;
    server.store().commit_for_replicas(writing).await
}

async fn save_problems(
    server: &Control,
    account_id: &AccountId,
    lease: &Lease,
    decision: &AssignDecision,
    before: &ResourceMap<AssignmentProblem>,
) -> Result<(), StoreError> {
    let is_new = |(node, reason): &(&String, &String)| {
        before.get(Kind::Node, node).is_none_or(|known| known.reason != **reason)
    };
    let new = decision.problems.iter().filter(is_new);
    let new: Vec<(ResourceKey, &str)> = new.map(|(node, reason)| (key_of(node), reason.as_str())).collect();
    let resolved = before.of_kind(Kind::Node).filter(|(node, _)| !decision.problems.contains_key(*node));
    let resolved: Vec<ResourceKey> = resolved.map(|(node, _)| key_of(node)).collect();
    let ended: Vec<ResourceKey> = decision.ended.iter().map(|node| key_of(node)).collect();
    if new.is_empty() && resolved.is_empty() && ended.is_empty() {
        return Ok(());
    }
    if !new.is_empty() {
        // First: after a crash in between there may be two events, but never none.
        record_blocked(server, account_id, Severity::Medium, &new).await?;
    }
    let mut writing = server.store().write().await?;
    writing.lease_check(lease).await?;
    writing.assignment_problems_put(account_id, &new, now()).await?;
    writing.assignment_problems_remove(account_id, &resolved).await?;
    writing.assignments_remove(account_id, &ended).await?;
    server.store().commit_for_replicas(writing).await
}
