//! Updates runs from the outcomes of their proposals.

use serde_json::Value;
use windlass_core::diff::nonempty_diff_document;
use windlass_core::id::{AccountId, ProposalId, RepositoryId, RunId};
use windlass_core::run::{ProposalOutcomes, RunFacts, run_status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, StoreError};

use crate::flow::drift::differences::differences_of;

/// Updates the runs of proposals. `except` is the run that is being saved.
pub(crate) async fn update_runs(
    writing: &mut AccountWriting,
    proposal_ids: &[&ProposalId],
    except: Option<&RunId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let runs = writing.runs_of_proposals(proposal_ids).await?;
    for run_id in runs.iter().filter(|run_id| Some(*run_id) != except) {
        update_run(writing, run_id, now).await?;
    }
    Ok(())
}

/// Updates a run from the outcomes of its proposals.
pub(crate) async fn update_run(
    writing: &mut AccountWriting,
    run_id: &RunId,
    now: Timestamp,
) -> Result<(), StoreError> {
    let account_id = writing.account_id().clone();
    let Some(run) = writing.run_head(&account_id, run_id).await? else { return Ok(()) };
    // While changes of its plan are not opened yet, the run is not over, whatever the outcomes of the earlier ones.
    let outcomes = match run.next_position {
        Some(_) => ProposalOutcomes::Open,
        None => writing.run_outcomes(&account_id, run_id).await?,
    };
    let not_proposed = run.skipped.as_array().map_or(0, Vec::len);
    let status = run_status(RunFacts { outcomes, remaining: run.remaining, not_proposed });
    let drift = match outcomes.all_closed_and_some_applied() {
        true => Some(remaining_difference(writing, &account_id, &run.repository_id).await?),
        false => None,
    };
    let is_over = outcomes != ProposalOutcomes::Open;
    let applied_at = is_over.then(|| run.applied_at.unwrap_or(now));
    writing.run_set_status(run_id, status, drift.as_ref(), applied_at).await?;
    if run.status != status {
        let is_last = writing
            .repository(&account_id, run.repository_id.as_str())
            .await?
            .is_some_and(|repository| repository.last_run_id.as_ref() == Some(run_id));
        if is_last {
            writing.repository_record_run(&run.repository_id, run_id, status, None, now).await?;
        }
    }
    Ok(())
}

/// The differences that remain between a repository and the accepted state, without accepted drift.
async fn remaining_difference(
    writing: &mut AccountWriting,
    account_id: &AccountId,
    repository_id: &RepositoryId,
) -> Result<Value, StoreError> {
    let found = differences_of(writing, account_id, repository_id).await?;
    Ok(nonempty_diff_document(found.not_accepted().map(|difference| (difference.action, &difference.key))))
}
