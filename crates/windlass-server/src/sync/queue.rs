//! Queueing runs: because someone asks, or because it is time.

use std::time::Duration;

use rand::RngExt as _;
use windlass_core::time::Timestamp;
use windlass_store::{Repository, Run, StoreError, Trigger, Writing};

use crate::crash::crash_point;
use crate::server::Server;

/// Due repositories taken at a time.
const DUE_AT_ONCE: usize = 100;

/// Who asks for a run, and what they said.
#[derive(Clone, Debug)]
pub(crate) struct SyncRequest {
    pub(crate) trigger: Trigger,
    pub(crate) by: Option<String>,
    pub(crate) confirm_mass_destroy: bool,
}

/// Queues a run, or joins the one that waits already. Returns its id.
pub(crate) async fn queue_run(
    writing: &mut Writing,
    repository: &Repository,
    request: &SyncRequest,
    now: Timestamp,
) -> Result<String, StoreError> {
    let mut run = Run::queued(&repository.account_id, &repository.id, &repository.name, now);
    run.trigger = request.trigger;
    run.requested_by = request.by.clone();
    run.confirm_mass_destroy = request.confirm_mass_destroy;
    if writing.run_add(&run).await? {
        return Ok(run.id);
    }
    let Some(waiting) = writing.run_queued(&repository.id).await? else { return Ok(run.id) };
    if let Some(by) = &request.by {
        writing.run_ask(&waiting.id, by, request.confirm_mass_destroy).await?;
    }
    Ok(waiting.id)
}

/// Queues a run for every repository whose time has come, and sets when it comes again.
pub(super) async fn queue_due(server: &Server, now: Timestamp) -> Result<(), StoreError> {
    let due = server.store().read().await?.repositories_due(now, DUE_AT_ONCE).await?;
    for repository in due {
        let mut writing = server.store().write().await?;
        let request = SyncRequest { trigger: Trigger::Schedule, by: None, confirm_mass_destroy: false };
        queue_run(&mut writing, &repository, &request, now).await?;
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
    now.after(Duration::from_millis(millis))
}
