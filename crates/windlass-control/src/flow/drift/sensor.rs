//! The drift sensor: reports manual changes, where the accepted state no longer equals the desired state, and who made
//! them.

use serde_json::{Value, json};
use tracing::Instrument as _;
use windlass_core::diff::Action;
use windlass_core::drift::GitDifference;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::repository::Repository;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Drift, Reading, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::flow::drift::differences::{DifferenceDetails, details_of, differences_of};
use crate::pace::run_periodically;
use crate::spans::SPANS;

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().intervals.drift;
    run_periodically(&server, "drift", &server.nudges().drift, interval, check_all_repositories).await;
}

async fn check_all_repositories(server: &Control) -> Result<(), StoreError> {
    let repositories = server.store().read().await?.repositories_with_good_run().await?;
    for (account_id, repository_id) in repositories {
        let span =
            tracing::trace_span!(target: SPANS, "drift", windlass.repository_id = repository_id.as_str());
        check_repository(server, &account_id, &repository_id).instrument(span).await?;
    }
    Ok(())
}

/// Checks one repository. Writes only if there is new or resolved drift. Loads it before it locks the account, and
/// again under the lock if the account's state changed meanwhile.
async fn check_repository(
    server: &Control,
    account_id: &AccountId,
    repository_id: &RepositoryId,
) -> Result<(), StoreError> {
    let mut reading = server.store().read_snapshot().await?;
    let version = reading.state_version(account_id).await?;
    let mut unreported = UnreportedDrift::load(&mut reading, account_id, repository_id).await?;
    drop(reading);
    if unreported.is_empty() {
        return Ok(());
    }
    let mut writing = server.store().write_account(account_id).await?;
    let Some(repository) = writing.repository(account_id, repository_id.as_str()).await? else {
        return Ok(());
    };
    if writing.state_version() != version {
        unreported = UnreportedDrift::load(&mut writing, account_id, repository_id).await?;
    }
    let now = now();
    record_drift(&mut writing, &repository, unreported.drifted, now).await?;
    record_resolved(&mut writing, &repository, &unreported.resolved, now).await?;
    // Comparisons do not use the list of reported drift.
    writing.keep_state();
    server.commit(writing).await
}

/// New and resolved drift that was not reported yet.
struct UnreportedDrift {
    drifted: Vec<(GitDifference, DifferenceDetails)>,
    resolved: Vec<ResourceKey>,
}

impl UnreportedDrift {
    async fn load(
        reading: &mut Reading,
        account_id: &AccountId,
        repository_id: &RepositoryId,
    ) -> Result<UnreportedDrift, StoreError> {
        let found = differences_of(reading, account_id, repository_id).await?;
        let reported = reading.drifts(repository_id).await?;
        let mut reported: ResourceMap<Drift> =
            reported.into_iter().map(|drift| (drift.key.clone(), drift)).collect();
        let drifted: Vec<&GitDifference> = found
            .manual_changes()
            .filter(|difference| {
                let before = reported.remove(difference.key.kind, &difference.key.name);
                !before.is_some_and(|drift| {
                    drift.desired == difference.desired && drift.accepted == difference.accepted
                })
            })
            .collect();
        let resolved = reported.iter().map(|(kind, name, _)| ResourceKey::new(kind, name)).collect();
        let mut details = details_of(reading, account_id, repository_id, &drifted).await?;
        let drifted = drifted.into_iter().map(|difference| {
            let details = details.remove(difference.key.kind, &difference.key.name).unwrap_or_default();
            (difference.clone(), details)
        });
        Ok(UnreportedDrift { drifted: drifted.collect(), resolved })
    }

    fn is_empty(&self) -> bool {
        self.drifted.is_empty() && self.resolved.is_empty()
    }
}

async fn record_drift(
    writing: &mut AccountWriting,
    repository: &Repository,
    drifted: Vec<(GitDifference, DifferenceDetails)>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let mut drifts = Vec::with_capacity(drifted.len());
    for (difference, DifferenceDetails { fields, last_change }) in drifted {
        let (changed_by, changed_at) = last_change.unwrap_or_else(|| ("unknown".to_owned(), now));
        let key = difference.key;
        let what = match difference.action {
            Action::Create => "was deleted",
            Action::Update | Action::Destroy => "was changed",
        };
        let resource_drift = ResourceDrift {
            kind: EventKind::DriftDetected,
            severity: Severity::High,
            message: format!("{key} {what} by {changed_by}"),
            payload: json!({"resource": key.to_string(), "change": difference.action, "fields": fields,
                "changed_by": changed_by, "changed_at": changed_at}),
        };
        writing.event(resource_drift.event(repository, &key, now));
        let (desired, accepted, fields) = (difference.desired, difference.accepted, json!(fields));
        drifts.push(Drift { key, desired, accepted, fields, changed_by, changed_at, detected_at: now });
    }
    writing.drifts_put(&repository.id, &drifts).await
}

async fn record_resolved(
    writing: &mut AccountWriting,
    repository: &Repository,
    resolved: &[ResourceKey],
    now: Timestamp,
) -> Result<(), StoreError> {
    for key in resolved {
        let resource_drift = ResourceDrift {
            kind: EventKind::DriftResolved,
            severity: Severity::Low,
            message: format!("{key} is in sync with git again, or its drift was accepted"),
            payload: json!({}),
        };
        writing.event(resource_drift.event(repository, key, now));
    }
    writing.drifts_remove(&repository.id, resolved).await?;
    Ok(())
}

/// The content of an event about the drift of a resource.
struct ResourceDrift {
    kind: EventKind,
    severity: Severity,
    message: String,
    payload: Value,
}

impl ResourceDrift {
    fn event(self, repository: &Repository, key: &ResourceKey, now: Timestamp) -> NewEvent {
        NewEvent {
            kind: self.kind,
            severity: self.severity,
            resource: Some(key.clone()),
            repository_id: Some(repository.id.clone()),
            correlation_id: repository.good_run_id.clone(),
            source: "drift sensor".to_owned(),
            message: self.message,
            payload: self.payload,
            at: now,
        }
    }
}
