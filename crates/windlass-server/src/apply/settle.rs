//! What the fates of proposals make of their runs, and of proposals that wait.

use serde_json::Value;
use windlass_core::diff::{Change, short_document};
use windlass_core::proposal::{Fates, RunFacts, run_status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Proposal, Reading, StoreError};

use super::verdict::candidate;
use crate::control::Control;
use crate::drift::differences_of;
use crate::holdings::{Candidate, Declarations};
use crate::world::World;

/// Brings the runs of proposals up to date; `except` is a run that is just being made.
pub(crate) async fn settle_runs(
    writing: &mut AccountWriting,
    proposal_ids: &[&str],
    except: Option<&str>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let runs = writing.runs_of_proposals(proposal_ids).await?;
    for run_id in runs.iter().filter(|run_id| Some(run_id.as_str()) != except) {
        settle_run(writing, run_id, now).await?;
    }
    Ok(())
}

/// Brings a run up to date with what became of its proposals.
pub(super) async fn settle_run(
    writing: &mut AccountWriting,
    run_id: &str,
    now: Timestamp,
) -> Result<(), StoreError> {
    let account_id = writing.account_id().to_owned();
    let Some(run) = writing.run_head(&account_id, run_id).await? else { return Ok(()) };
    // While changes of its plan are yet to be opened, it is not over, whatever became of those before.
    let fates = match run.next_position {
        Some(_) => Fates::Open,
        None => writing.run_fates(&account_id, run_id).await?,
    };
    let not_offered = run.skipped.as_array().map_or(0, Vec::len);
    let status = run_status(RunFacts { fates, remaining: run.remaining, not_offered });
    let drift = match fates.all_closed_and_some_applied() {
        true => Some(drift_document(writing, &account_id, &run.repository_id).await?),
        false => None,
    };
    let is_over = fates != Fates::Open;
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

/// What still differs between a repository and the accepted state.
async fn drift_document(
    writing: &mut AccountWriting,
    account_id: &str,
    repository_id: &str,
) -> Result<Value, StoreError> {
    let found = differences_of(writing, account_id, repository_id).await?;
    Ok(short_document(found.open().map(|difference| (difference.action, &difference.key))))
}

/// Notes anew what a proposal waits for: someone changed what it would apply.
pub(crate) async fn note_blockers(writing: &mut AccountWriting, id: &str) -> Result<(), StoreError> {
    let account_id = writing.account_id().to_owned();
    let Some(proposal) = writing.proposal(&account_id, id).await? else { return Ok(()) };
    let change = proposal.effective_change();
    let candidate = candidate(&proposal, &change);
    let world = World::around(writing, &account_id, &[candidate], Declarations::Stored).await?;
    let reasons = world.blockers(candidate);
    writing.proposals_block(&[(proposal.id.clone(), reasons)]).await
}

/// Tells undecided proposals that waited for something whether they still do. Nothing is written while nothing is new.
pub(super) async fn refresh_blocked(server: &Control, account_id: &str) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let is_news = !changed_blocks(&mut reading, account_id).await?.is_empty();
    drop(reading);
    if !is_news {
        return Ok(());
    }
    let mut writing = server.store().write_account(account_id).await?;
    let changed = changed_blocks(&mut writing, account_id).await?;
    writing.proposals_block(&changed).await?;
    server.commit(writing).await
}

/// Undecided proposals that wait for something else than they were told. What is approved is told when its turn comes.
async fn changed_blocks(
    reading: &mut Reading,
    account_id: &str,
) -> Result<Vec<(String, Vec<String>)>, StoreError> {
    let waiting = reading.proposals_blocked(account_id).await?;
    let changes: Vec<Change> = waiting.iter().map(Proposal::effective_change).collect();
    let candidates: Vec<Candidate<'_>> =
        waiting.iter().zip(&changes).map(|(proposal, change)| candidate(proposal, change)).collect();
    let world = World::around(reading, account_id, &candidates, Declarations::Stored).await?;
    let now_blocked = waiting.iter().zip(&candidates).filter_map(|(proposal, candidate)| {
        let reasons = world.blockers(*candidate);
        (reasons != proposal.blocked_by).then_some((proposal.id.clone(), reasons))
    });
    Ok(now_blocked.collect())
}
