//! From the accepted state to assignments: which nodes get a new document, stored with the approvals that cover it.
//!
//! Only changed documents are written, and no transaction here locks the account: people's decisions do not wait for ten
//! thousand nodes. A node that cannot get a new document keeps the one it has, and the reason is stored.

pub(crate) mod blocked;
pub mod fleet;
pub mod packages;
pub mod save;
pub mod versions;

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::assign::{AssignDecision, AssignedBefore, assign_nodes};
use windlass_core::id::AccountId;
use windlass_core::resource::Kind;
use windlass_store::{Lease, Reading, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::flow::assign::fleet::{FleetScope, load_fleet};
use crate::flow::assign::packages::build_packages;
use crate::flow::assign::save::{LEASE, save_decision};
use crate::flow::rollout::{Refreshed, hold_back, refresh};

/// How a turn of an account ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssignResult {
    /// Every node has its document, or a reason that only a change of the accepted state can remove.
    Done,
    /// Something may work later: content of a module could not be read, or another replica is at work.
    Again,
}

/// Assigns what is accepted now to the nodes of one account.
pub async fn assign_account(server: &Control, account_id: &AccountId) -> Result<AssignResult, StoreError> {
    // One replica at a time: another might save what it computed from an earlier state.
    let name = format!("assign:{account_id}");
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(AssignResult::Again);
    };
    let assigned = assign_under_lease(server, account_id, &lease).await;
    server.release_lease(&lease).await;
    assigned
}

/// Moves the rollouts of an account whose accepted state did not change. Documents are made only if a node may get its own.
pub async fn advance_rollouts(server: &Control, account_id: &AccountId) -> Result<(), StoreError> {
    let is_halted =
        server.store().read().await?.account(account_id.as_str()).await?.is_none_or(|it| it.halt.is_some());
    if is_halted {
        return Ok(());
    }
    match refresh(server, account_id).await? {
        Refreshed::Settled => {}
        Refreshed::NodesReady => drop(assign_account(server, account_id).await?),
    }
    Ok(())
}

async fn assign_under_lease(
    server: &Control,
    account_id: &AccountId,
    lease: &Lease,
) -> Result<AssignResult, StoreError> {
    let mut reading = server.store().read_snapshot().await?;
    let halt = reading.account(account_id.as_str()).await?.map(|account| account.halt);
    // A removed account has nothing to assign, and the kill switch stops new assignments too.
    let Some(None) = halt else { return Ok(AssignResult::Done) };
    let before = load_assigned(&mut reading, account_id).await?;
    let loaded = load_fleet(server, &mut reading, account_id, FleetScope::All).await?;
    let problems = reading.assignment_problems(account_id).await?;
    drop(reading);
    let has_nodes = loaded.fleet.accepted.resources.of_kind(Kind::Node).next().is_some();
    if !has_nodes && before.documents.is_empty() && problems.is_empty() {
        return Ok(AssignResult::Done);
    }
    let fleet = Arc::new(build_packages(server, account_id, loaded).await?);
    let before = Arc::new(before);
    let is_complete = fleet.unavailable.is_empty();
    let permit = server.reading_permit(account_id).await;
    let (of_fleet, of_before) = (Arc::clone(&fleet), Arc::clone(&before));
    let decided = tokio::task::spawn_blocking(move || assign_nodes(&of_fleet, &of_before)).await;
    drop(permit);
    let mut decision: AssignDecision = match decided {
        Ok(decision) => decision,
        Err(panic) => {
            tracing::error!(error = %panic, "a task panicked");
            return Ok(AssignResult::Again);
        }
    };
    hold_back(server, account_id, lease, &fleet, &before, &mut decision).await?;
    save_decision(server, account_id, lease, &decision, &problems).await?;
    Ok(if is_complete { AssignResult::Done } else { AssignResult::Again })
}

async fn load_assigned(reading: &mut Reading, account_id: &AccountId) -> Result<AssignedBefore, StoreError> {
    let assignments = reading.assignments(account_id).await?;
    let nodes = assignments.of_kind(Kind::Node).map(|(name, assigned)| (name.to_owned(), assigned.digest));
    let agents = reading.agents(account_id).await?.into_iter();
    let enrolled: BTreeSet<String> =
        agents.filter(|agent| agent.target.kind == Kind::Node).map(|agent| agent.target.name).collect();
    Ok(AssignedBefore { documents: nodes.collect(), enrolled })
}
