//! A run that finds the same commit as the previous run, while nothing changed that a comparison uses. It takes over
//! the previous result without comparing, however large the plan is.

use windlass_core::repository::Repository;
use windlass_core::run::Run;
use windlass_store::StoreError;

use crate::clock::now;
use crate::comparison::LastComparison;
use crate::control::Control;
use crate::flow::sync::finish::finish;
use crate::flow::sync::run_lease::RunLease;

/// Remembers the result of a run, only in memory: another version of Windlass may decide otherwise.
pub(crate) fn remember_result(server: &Control, repository: &Repository, last: LastComparison) {
    server.last_comparisons().insert(repository.id.clone(), last);
}

/// Ends a run with the previous result, if that is still valid. Returns whether it is.
pub(crate) async fn repeat_last(
    server: &Control,
    run: &mut Run,
    repository: &Repository,
    holding: RunLease<'_>,
) -> Result<bool, StoreError> {
    let last = server.last_comparisons().get(&repository.id).cloned();
    let Some(last) = last.filter(|_| !run.confirm_mass_destroy) else { return Ok(false) };
    let now = now();
    let mut writing = server.store().write_account(&run.account_id).await?;
    let is_expired = last.until.is_some_and(|until| until <= now);
    if is_expired || writing.state_version() != last.state_version {
        return Ok(false);
    }
    let Some(earlier) = writing.run(&run.account_id, &last.run_id).await? else { return Ok(false) };
    holding.end_in(&mut writing).await?;
    writing.keep_state();
    run.status = earlier.status;
    run.diff = earlier.diff;
    run.diff_count = earlier.diff_count;
    run.remaining = earlier.remaining;
    run.skipped = earlier.skipped;
    run.problems = earlier.problems;
    run.plan_id = earlier.plan_id;
    run.next_position = earlier.next_position;
    run.completed_at = Some(now);
    writing.run_proposals_copy(&run.id, &earlier.id).await?;
    finish(&mut writing, run, repository, 0, now).await?;
    writing.run_set_plan(&run.id, run.plan_id.as_ref(), run.next_position).await?;
    let version = writing.state_version();
    server.commit(writing).await?;
    let last = LastComparison { run_id: run.id.clone(), state_version: version, ..last };
    remember_result(server, repository, last);
    Ok(true)
}
