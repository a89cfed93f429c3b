//! Resuming a repository's proposals although its last sync failed.

use serde_json::json;
use windlass_core::event::{EventKind, Severity};
use windlass_core::id::RunId;
use windlass_store::{AuditEntry, Outcome};

use crate::ask::proposal::decision::{DecisionError, DecisionResult};
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;

/// Allows the proposals of a repository to be applied although its newest run failed. Applies to that run only.
pub async fn confirm_failure(
    server: &Control,
    who: &Identity,
    run_id: &RunId,
    reason: Option<&str>,
) -> DecisionResult {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let run = writing.run_head(&who.account_id, run_id).await?.ok_or(DecisionError::NotFound)?;
    let is_newest = writing.repository_confirm_failure(&run.repository_id, &run.id).await?;
    let detail = json!({"reason": reason, "repository": run.repository_name,
        "error": run.error.as_ref().map(|error| error.message.as_str())});
    let entry = record::audit_entry(
        &who.actor(),
        "run.confirm_failure",
        ("run", run.id.as_str()),
        detail.clone(),
        now,
    );
    if !is_newest {
        writing.audit(AuditEntry { outcome: Outcome::Refused, ..entry });
        server.commit(writing).await?;
        return Err(DecisionError::InvalidRequest(
            "only a repository's newest run can be confirmed, and only if it failed",
        ));
    }
    writing.audit(entry);
    let message =
        format!("{} resumed applying proposals of {} after a failed sync", who.email, run.repository_name);
    let kind = EventKind::SyncFailureConfirmed;
    writing.event(record::run_event(kind, Severity::Medium, &run, message, detail, now));
    server.commit(writing).await?;
    server.nudges().apply.notify_one();
    Ok(())
}
