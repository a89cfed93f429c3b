//! Rollouts: which of the nodes that want a new document get it now.
//!
//! `hold_back` stands between deciding which documents nodes shall have and storing their assignments. It stores how the
//! rollouts stand before the assignments are stored. A crash in between does no harm: who got a document is read from the
//! assignments and never from the rollout, so the next turn gives the same nodes the same documents.
//!
//! `refresh` does the part that needs no documents: it notes how far the nodes are, and whether a rollout stopped or is
//! complete.

pub mod facts;
pub mod governing;
pub mod save;

use std::collections::BTreeMap;

use windlass_core::assign::{ApprovedFleet, AssignDecision, AssignedBefore};
use windlass_core::id::AccountId;
use windlass_core::rollout::{NodeToAssign, Rollout, RolloutDecisions, decide};
use windlass_store::{Lease, Reading, StoreError, StoredRollout};

use crate::clock::now;
use crate::control::Control;
use crate::flow::rollout::facts::{NodeStatuses, NodesToDecide, nodes_of_rollouts};
use crate::flow::rollout::governing::{causes_of, governing_of};
use crate::flow::rollout::save::save_rollouts;

/// Removes the nodes from a decision that must wait for their turn, and stores how the rollouts stand.
pub(crate) async fn hold_back(
    server: &Control,
    account_id: &AccountId,
    lease: &Lease,
    fleet: &ApprovedFleet,
    before: &AssignedBefore,
    decision: &mut AssignDecision,
) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let holding = reading.rollouts_holding_counts(account_id).await?;
    let governing = governing_of(&mut reading, fleet, before, &decision.changed).await?;
    if holding.is_empty() && governing.is_empty() {
        return Ok(());
    }
    let statuses = NodeStatuses::load(&mut reading, account_id, now()).await?;
    let causes = causes_of(&mut reading, account_id, &governing, &decision.changed).await?;
    drop(reading);
    let mut writing = server.store().write_account(account_id).await?;
    writing.lease_check(lease).await?;
    // Read again in the transaction: somebody may have decided about one meanwhile.
    let holding = writing.rollouts_holding(account_id).await?;
    let nodes = NodesToDecide { fleet, before, decision, governing: &governing, statuses: &statuses };
    let decided = decide_rollouts(&nodes.with(&holding), &holding);
    decision.changed.retain(|new| decided.assign.contains(&new.node));
    if save_rollouts(&mut writing, &holding, &decided, &causes, now()).await? {
        writing.keep_state();
        server.commit(writing).await?;
    }
    Ok(())
}

/// Whether nodes may get their documents now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refreshed {
    /// None may.
    Settled,
    /// Some may: their documents have to be made.
    NodesReady,
}

/// Stores how the rollouts of an account stand if what its nodes shall get did not change.
pub(crate) async fn refresh(server: &Control, account_id: &AccountId) -> Result<Refreshed, StoreError> {
    let mut reading = server.store().read_snapshot().await?;
    let (holding, decided) = decide_now(&mut reading, account_id).await?;
    drop(reading);
    if !decided.assign.is_empty() {
        return Ok(Refreshed::NodesReady);
    }
    if !save::has_changes(&holding, &decided) {
        return Ok(Refreshed::Settled);
    }
    let mut writing = server.store().write_account(account_id).await?;
    let (holding, decided) = decide_now(&mut writing, account_id).await?;
    if !decided.assign.is_empty() {
        return Ok(Refreshed::NodesReady);
    }
    if save_rollouts(&mut writing, &holding, &decided, &BTreeMap::new(), now()).await? {
        writing.keep_state();
        server.commit(writing).await?;
    }
    Ok(Refreshed::Settled)
}

async fn decide_now(
    reading: &mut Reading,
    account_id: &AccountId,
) -> Result<(Vec<StoredRollout>, RolloutDecisions), StoreError> {
    let holding = reading.rollouts_holding(account_id).await?;
    let statuses = NodeStatuses::load(reading, account_id, now()).await?;
    let problems = reading.assignment_problems(account_id).await?;
    let decided = decide_rollouts(&nodes_of_rollouts(&holding, &statuses, &problems), &holding);
    Ok((holding, decided))
}

fn decide_rollouts(
    nodes: &BTreeMap<String, NodeToAssign<'_>>,
    holding: &[StoredRollout],
) -> RolloutDecisions {
    let rollouts: Vec<Rollout> = holding.iter().map(|stored| stored.rollout.clone()).collect();
    decide(nodes, &rollouts, now())
}
