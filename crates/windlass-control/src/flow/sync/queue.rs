//! Queues runs that someone requests, or that are due.

use std::time::Duration;

use rand::RngExt as _;
use windlass_core::id::RunId;
use windlass_core::repository::Repository;
use windlass_core::run::{Run, Trigger};
use windlass_core::time::Timestamp;
use windlass_store::{StoreError, Writing, new_id};

use crate::control::Control;
use crate::crash::crash_point;

/// Due repositories queued at a time.
const DUE_AT_ONCE: usize = 100;

/// Who requests a run, why, and whether they confirmed a mass destroy.
#[derive(Clone, Debug)]
pub(crate) struct SyncRequest {
    pub(crate) trigger: Trigger,
    pub(crate) by: Option<String>,
    pub(crate) mass_destroy: SyncConfirmation,
}

/// Whether an approver confirmed a run that would destroy most of what its repository owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SyncConfirmation {
    /// Not confirmed: such a run is stopped.
    Unconfirmed,
    /// Confirmed for this commit, or, without one, for whatever commit the run finds.
    Confirmed { commit: Option<String> },
}

impl SyncRequest {
    /// A request that confirms nothing.
    pub(crate) fn new(trigger: Trigger, by: Option<&str>) -> SyncRequest {
        SyncRequest { trigger, by: by.map(str::to_owned), mass_destroy: SyncConfirmation::Unconfirmed }
    }
}

/// Queues a run, or joins the one that is queued already. Returns its id.
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
        (None, trigger) => writing.run_set_trigger(&waiting.id, trigger).await?,
    }
    if let SyncConfirmation::Confirmed { commit } = &request.mass_destroy {
        writing.run_confirm(&waiting.id, commit.as_deref()).await?;
    }
    Ok(waiting.id)
}

/// The new trigger of a queued run that is requested again. The schedule and pushes need a run that fetches, so a
/// queued run that would not fetch changes its trigger.
fn joined_trigger(waiting: Trigger, request: &SyncRequest) -> Trigger {
    match &request.by {
        Some(_) => Trigger::Request,
        None if waiting.fetches() => waiting,
        None => request.trigger,
    }
}

/// Queues runs for repositories that are due, and schedules their next sync.
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

/// The time of the next sync: an interval from now, ± 10 %, so that many repositories do not sync at once.
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
    fn a_request_for_a_fetch_turns_a_queued_run_without_one_into_a_fetch() {
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
