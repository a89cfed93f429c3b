//! Queueing runs: because someone asks, or because it is time.

use std::time::Duration;

use rand::RngExt as _;
use windlass_core::id::RunId;
use windlass_core::repository::Repository;
use windlass_core::run::{Run, Trigger};
use windlass_core::time::Timestamp;
use windlass_store::{StoreError, Writing, new_id};

use crate::control::Control;
use crate::crash::crash_point;

/// Due repositories taken at a time.
const DUE_AT_ONCE: usize = 100;

/// Who asks for a run, and what they said.
#[derive(Clone, Debug)]
pub(crate) struct SyncRequest {
    pub(crate) trigger: Trigger,
    pub(crate) by: Option<String>,
    pub(crate) mass_destroy: SyncConfirmation,
}

/// What someone who may approve says of a run that would destroy most of what its repository owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyncConfirmation {
    /// Nothing: it is stopped.
    Unconfirmed,
    /// It is meant, for this commit; for whatever commit the run finds if there was none to look at.
    Confirmed { commit: Option<String> },
}

impl SyncRequest {
    /// A request that confirms nothing.
    pub(crate) fn new(trigger: Trigger, by: Option<&str>) -> SyncRequest {
        SyncRequest { trigger, by: by.map(str::to_owned), mass_destroy: SyncConfirmation::Unconfirmed }
    }
}

/// Queues a run, or joins the one that waits already. Returns its id.
pub(crate) async fn queue_run(
    writing: &mut Writing,
    repository: &Repository,
    request: &SyncRequest,
    now: Timestamp,
) -> Result<RunId, StoreError> {
    let mut run = Run::queued(new_id(), repository, now);
    run.trigger = request.trigger;
    run.requested_by = request.by.clone();
    if let SyncConfirmation::Confirmed { commit } = &request.mass_destroy {
        run.confirm_mass_destroy = true;
        run.confirmed_commit = commit.clone();
    }
    if writing.run_add(&run).await? {
        return Ok(run.id);
    }
    let Some(waiting) = writing.run_queued(&repository.id).await? else { return Ok(run.id) };
    match (&request.by, joined_trigger(waiting.trigger, request)) {
        (Some(by), _) => writing.run_request(&waiting.id, by).await?,
        (None, trigger) if trigger == waiting.trigger => {}
        (None, trigger) => writing.run_fetch(&waiting.id, trigger).await?,
    }
    if let SyncConfirmation::Confirmed { commit } = &request.mass_destroy {
        writing.run_confirm(&waiting.id, commit.as_deref()).await?;
    }
    Ok(waiting.id)
}

/// What makes a run happen that waits already and is asked for again. Whoever waits for git to be asked, be it the schedule
/// or a push, must not wait for a run that does not.
fn joined_trigger(waiting: Trigger, request: &SyncRequest) -> Trigger {
    match &request.by {
        Some(_) => Trigger::Request,
        None if waiting.fetches() => waiting,
        None => request.trigger,
    }
}

/// Queues a run for every repository whose time has come, and sets when it comes again.
pub(crate) async fn queue_due(server: &Control, now: Timestamp) -> Result<(), StoreError> {
    let due = server.store().read().await?.repositories_due(now, DUE_AT_ONCE).await?;
    for repository in due {
        let mut writing = server.store().write().await?;
        queue_run(&mut writing, &repository, &SyncRequest::new(Trigger::Schedule, None), now).await?;
        writing.repository_schedule(&repository.id, next_sync(&repository, now)).await?;
        writing.commit().await?;
        crash_point("sync.queued");
    }
    Ok(())
}

/// The next time: an interval from now, give or take a tenth, so that many repositories do not sync at once.
pub(crate) fn next_sync(repository: &Repository, now: Timestamp) -> Timestamp {
    let interval = repository.interval.as_millis();
    let share = rand::rng().random_range(90..=110_u128);
    let millis = u64::try_from(interval * share / 100).unwrap_or(u64::MAX);
    now.plus(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_for_git_does_not_wait_for_a_run_that_does_not_ask_it() {
        for trigger in [Trigger::Schedule, Trigger::Webhook] {
            let by_itself = SyncRequest::new(trigger, None);
            assert_eq!(joined_trigger(Trigger::Revert, &by_itself), trigger);
            assert_eq!(joined_trigger(Trigger::Request, &by_itself), Trigger::Request);
        }
        for waiting in [Trigger::Revert, Trigger::Schedule] {
            let by_someone = SyncRequest::new(Trigger::Revert, Some("ada@example.com"));
            assert!(joined_trigger(waiting, &by_someone).fetches(), "{waiting:?}");
        }
    }
}
