//! The drift sensor: is the accepted state still what git last said, and if not, who made it so?

use serde_json::{Value, json};
use tracing::Instrument as _;
use windlass_core::diff::Action;
use windlass_core::drift::Difference;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::repository::Repository;
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Drift, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::flow::drift::differences::{Found, differences_of, fields_of, last_change};
use crate::pace::every;
use crate::spans::SPANS;

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let rhythm = server.config().rhythm.drift;
    every(&server, "drift", &server.nudges().drift, rhythm, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let repositories = server.store().read().await?.repositories_compared().await?;
    for (account_id, repository_id) in repositories {
        let span = tracing::trace_span!(target: SPANS, "drift", windlass.repository_id = repository_id);
        sense(server, &account_id, &repository_id).instrument(span).await?;
    }
    Ok(())
}

/// Looks at one repository. Nothing is written while nothing is new.
async fn sense(server: &Control, account_id: &str, repository_id: &str) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let found = differences_of(&mut reading, account_id, repository_id).await?;
    let news = News::of(&found, reading.drifts(repository_id).await?);
    drop(reading);
    if news.is_empty() {
        return Ok(());
    }
    let mut writing = server.store().write_account(account_id).await?;
    let Some(repository) = writing.repository(account_id, repository_id).await? else { return Ok(()) };
    // Once more, now that nothing can move.
    let found = differences_of(&mut writing, account_id, repository_id).await?;
    let news = News::of(&found, writing.drifts(repository_id).await?);
    let now = now();
    for difference in &news.drifted {
        tell_drift(&mut writing, &repository, difference, now).await?;
    }
    for key in &news.resolved {
        writing.drift_remove(repository_id, key).await?;
        let message = format!("{key} is as git says again, or accepted");
        let (kind, severity) = (EventKind::DriftResolved, Severity::Low);
        writing.event(drift_event(kind, severity, &repository, key, message, json!({}), now));
    }
    server.commit(writing).await
}

/// What was not told yet.
struct News<'f> {
    drifted: Vec<&'f Difference>,
    resolved: Vec<ResourceKey>,
}

impl News<'_> {
    fn of(found: &Found, told: Vec<Drift>) -> News<'_> {
        let mut told: ResourceMap<Drift> = told.into_iter().map(|drift| (drift.key.clone(), drift)).collect();
        let drifted = found
            .drifted()
            .filter(|difference| {
                let before = told.remove(difference.key.kind, &difference.key.name);
                !before.is_some_and(|drift| {
                    drift.desired == difference.desired && drift.accepted == difference.accepted
                })
            })
            .collect();
        let resolved = told.iter().map(|(kind, name, _)| ResourceKey::new(kind, name)).collect();
        News { drifted, resolved }
    }

    fn is_empty(&self) -> bool {
        self.drifted.is_empty() && self.resolved.is_empty()
    }
}

async fn tell_drift(
    writing: &mut AccountWriting,
    repository: &Repository,
    difference: &Difference,
    now: Timestamp,
) -> Result<(), StoreError> {
    let key = &difference.key;
    let fields = fields_of(writing, &repository.account_id, &repository.id, difference).await?;
    let changed = last_change(writing, &repository.account_id, key).await?;
    let (changed_by, changed_at) = changed.unwrap_or_else(|| ("unknown".to_owned(), now));
    let drift = Drift {
        key: key.clone(),
        desired: difference.desired,
        accepted: difference.accepted,
        fields: json!(fields),
        changed_by: changed_by.clone(),
        changed_at,
        detected_at: now,
    };
    writing.drift_put(&repository.id, &drift).await?;
    let what = match difference.action {
        Action::Create => "was removed",
        Action::Update | Action::Destroy => "was changed",
    };
    let message = format!("{key} {what} by {changed_by}");
    let payload = json!({"resource": key.to_string(), "change": difference.action, "fields": fields,
        "changed_by": changed_by, "changed_at": changed_at});
    let event = drift_event(EventKind::DriftDetected, Severity::High, repository, key, message, payload, now);
    writing.event(event);
    Ok(())
}

fn drift_event(
    kind: EventKind,
    severity: Severity,
    repository: &Repository,
    key: &ResourceKey,
    message: String,
    payload: Value,
    now: Timestamp,
) -> NewEvent {
    NewEvent {
        kind,
        severity,
        resource: Some(key.clone()),
        repository_id: Some(repository.id.clone()),
        correlation_id: repository.good_run_id.clone(),
        source: "drift sensor".to_owned(),
        message,
        payload,
        at: now,
    }
}
