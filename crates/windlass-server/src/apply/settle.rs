//! What the fates of proposals make of their runs, and of proposals that wait.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_core::diff::short_document;
use windlass_core::proposal::{RunFacts, Status, blockers, run_status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, ProposalFilter, Reading, StoreError};

use super::choose::{destroys_of, effective_change};
use crate::drift::differences_of;
use crate::server::Server;
use crate::world::World;

/// Brings the runs of proposals up to date; `except` is a run that is just being made.
pub(super) async fn settle_runs(
    writing: &mut AccountWriting,
    proposal_ids: &[String],
    except: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut runs = BTreeSet::new();
    for id in proposal_ids {
        runs.extend(writing.runs_of_proposal(id).await?);
    }
    for run_id in runs.iter().filter(|run_id| Some(run_id.as_str()) != except) {
        settle_run(writing, run_id, now).await?;
    }
    Ok(())
}

/// Brings the runs of one proposal up to date.
pub(crate) async fn settle_runs_of(
    writing: &mut AccountWriting,
    proposal_id: &str,
    except: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    settle_runs(writing, &[proposal_id.to_owned()], except, now).await
}

async fn settle_run(writing: &mut AccountWriting, run_id: &str, now: Timestamp) -> Result<(), StoreError> {
    let account_id = writing.account_id().to_owned();
    let Some(run) = writing.run(&account_id, run_id).await? else { return Ok(()) };
    let statuses = writing.run_proposal_statuses(run_id).await?;
    let not_offered = run.skipped.as_array().map_or(0, Vec::len);
    let status = run_status(RunFacts { proposals: &statuses, remaining: run.remaining, not_offered });
    let is_over = !statuses.iter().any(|status| status.is_open());
    let has_applied =
        statuses.iter().any(|status| matches!(status, Status::Applied | Status::AppliedManually));
    let drift = match is_over && has_applied {
        true => Some(drift_document(writing, &account_id, &run.repository_id).await?),
        false => None,
    };
    let applied_at = is_over.then(|| run.applied_at.unwrap_or(now));
    writing.run_settle(run_id, status, drift.as_ref(), applied_at).await?;
    if run.status != status {
        let is_last = writing
            .repository(&account_id, &run.repository_id)
            .await?
            .is_some_and(|repository| repository.last_run_id.as_deref() == Some(run_id));
        if is_last {
            writing.repository_ran(&run.repository_id, run_id, status.slug(), None, now).await?;
        }
    }
    Ok(())
}

/// What still differs between a repository and live.
async fn drift_document(
    writing: &mut AccountWriting,
    account_id: &str,
    repository_id: &str,
) -> Result<Value, StoreError> {
    let found = differences_of(writing, account_id, repository_id).await?;
    Ok(short_document(found.open().map(|difference| (difference.action, &difference.key))))
}

/// Tells undecided proposals that waited for something whether they still do. Nothing is written while nothing is new.
pub(super) async fn refresh_blocked(server: &Server, account_id: &str) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let is_news = !changed_blocks(&mut reading, account_id).await?.is_empty();
    drop(reading);
    if !is_news {
        return Ok(());
    }
    let mut writing = server.store().write_account(account_id).await?;
    for (id, reasons) in changed_blocks(&mut writing, account_id).await? {
        writing.proposal_block(&id, &reasons).await?;
    }
    server.commit(writing).await
}

/// Undecided proposals that wait for something else than they were told. What is approved is told when it is chosen.
async fn changed_blocks(
    reading: &mut Reading,
    account_id: &str,
) -> Result<Vec<(String, Vec<String>)>, StoreError> {
    let filter = ProposalFilter { statuses: vec![Status::PendingApproval], ..ProposalFilter::default() };
    let mut waiting = reading.proposals(account_id, &filter, None, i32::MAX as usize).await?;
    waiting.retain(|proposal| !proposal.blocked_by.is_empty());
    if waiting.is_empty() {
        return Ok(Vec::new());
    }
    let world = World::load(reading, account_id, destroys_of(&waiting)).await?;
    let now_blocked = waiting.into_iter().filter_map(|proposal| {
        let reasons = blockers(&effective_change(&proposal), &world);
        (reasons != proposal.blocked_by).then_some((proposal.id, reasons))
    });
    Ok(now_blocked.collect())
}
