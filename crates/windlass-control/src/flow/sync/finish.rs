//! The last step of a run that completed its comparison.

use serde_json::json;
use windlass_core::event::{EventKind, Severity};
use windlass_core::repository::Repository;
use windlass_core::run::{Movement, Run};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, StoreError};

use crate::record;

/// Ends a run that completed its comparison, and adds its events.
pub(crate) async fn finish(
    writing: &mut AccountWriting,
    run: &Run,
    repository: &Repository,
    opened: usize,
    now: Timestamp,
) -> Result<(), StoreError> {
    if !writing.run_finish(run).await? {
        return Ok(());
    }
    if run.knows_desired_state(repository) {
        writing.repository_record_run(&repository.id, &run.id, run.status, None, now).await?;
        let commit = run.commit_sha.clone().unwrap_or_default();
        writing.repository_set_last_good(&repository.id, &run.id, &commit, now).await?;
    } else {
        writing.repository_record_comparison(&repository.id, &run.id).await?;
    }
    let message = match run.diff_count {
        0 => format!("{} is in sync", repository.name),
        count => format!("{} has {count} differences; {} proposed now", repository.name, opened),
    };
    let payload = json!({
        "commit_sha": run.commit_sha, "diff_count": run.diff_count, "remaining": run.remaining,
        "opened": opened, "movement": run.movement,
    });
    let severity = match run.movement {
        Some(Movement::Rewritten) => Severity::Medium,
        _ => Severity::Low,
    };
    writing.event(record::run_event(EventKind::SyncSucceeded, severity, run, message, payload, now));
    if run.movement == Some(Movement::Rewritten) {
        let message = format!("the history of {} was rewritten", repository.name);
        let payload = json!({"commit_sha": run.commit_sha, "previous": repository.good_commit});
        let event =
            record::run_event(EventKind::HistoryRewritten, Severity::High, run, message, payload, now);
        writing.event(event);
    }
    Ok(())
}
