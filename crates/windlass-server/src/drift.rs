//! The drift sensor: is the accepted state still what git last said, and if not, who made it so?

use serde_json::{Value, json};
use tracing::Instrument as _;
use windlass_core::diff::{Action, Cause, Change, FieldChange};
use windlass_core::drift::{Acceptance, Acceptances, Difference, Origin, Present, Wanted, differences};
use windlass_core::resource::{ResourceKey, ResourceMap};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Differing, Drift, NewEvent, Reading, Repository, Severity, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::loops::every;
use crate::telemetry::SPANS;
use crate::world::{owner_of, repository_names};

/// Differences of a repository, those that someone accepted apart.
pub(crate) struct Found {
    pub(crate) differences: Vec<Difference>,
    acceptances: Acceptances,
    now: Timestamp,
}

impl Found {
    /// The acceptance of a difference, if it holds.
    pub(crate) fn acceptance(&self, difference: &Difference) -> Option<&Acceptance> {
        self.acceptances.of(&difference.key, difference.desired, difference.accepted, self.now)
    }

    /// Those nobody accepted.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| self.acceptance(difference).is_none())
    }

    /// Those that someone made by hand and nobody accepted.
    pub(crate) fn drifted(&self) -> impl Iterator<Item = &Difference> {
        self.open().filter(|difference| difference.origin == Origin::ByHand)
    }
}

/// How the accepted state differs from what a repository last said.
pub(crate) async fn differences_of(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
) -> Result<Found, StoreError> {
    let differing = reading.differing(account_id, repository_id).await?;
    found_among(reading, account_id, repository_id, differing).await
}

/// How one resource differs from what a repository last said.
pub(crate) async fn difference_at(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
    key: &ResourceKey,
) -> Result<Found, StoreError> {
    let differing = reading.differing_at(account_id, repository_id, key).await?;
    found_among(reading, account_id, repository_id, differing).await
}

async fn found_among(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
    differing: impl IntoIterator<Item = Differing>,
) -> Result<Found, StoreError> {
    let names = repository_names(reading, account_id).await?;
    let owner = owner_of(Some(repository_id), &names);
    let (mut wanted, mut accepted) = (ResourceMap::default(), ResourceMap::default());
    for differing in differing {
        if let Some((digest, last_agreed)) = differing.wanted {
            wanted.insert(differing.key.clone(), Wanted { digest, last_agreed });
        }
        if let Some((digest, owner_id)) = differing.accepted {
            accepted.insert(differing.key, Present { digest, owner: owner_of(owner_id.as_deref(), &names) });
        }
    }
    let acceptances = reading.acceptances(repository_id).await?;
    Ok(Found {
        differences: differences(&wanted, &accepted, &owner),
        acceptances: acceptances.into_iter().collect(),
        now: now(),
    })
}

/// The fields in which a resource differs: `before` is what git says, `after` the accepted state.
pub(crate) async fn fields_of(
    reading: &mut Reading,
    account_id: &str,
    repository_id: &str,
    difference: &Difference,
) -> Result<Vec<FieldChange>, StoreError> {
    let key = &difference.key;
    let wanted = reading.wanted_specs(repository_id, Some(std::slice::from_ref(key))).await?;
    let accepted = reading.resource(account_id, key).await?;
    let change = Change {
        key: key.clone(),
        cause: Cause::Edited,
        before: wanted.get(key.kind, &key.name).cloned(),
        base: difference.desired,
        after: accepted.map(|accepted| accepted.spec),
        desired: difference.accepted,
    };
    Ok(change.fields())
}

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
        let (kind, severity) = ("gitops.drift_resolved", Severity::Low);
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

/// Who last changed a resource, and when.
pub(crate) async fn last_change(
    reading: &mut Reading,
    account_id: &str,
    key: &ResourceKey,
) -> Result<Option<(String, Timestamp)>, StoreError> {
    let entries = reading.audit(account_id, Some((key.kind.slug(), &key.name)), i64::MAX, 1).await?;
    Ok(entries.into_iter().next().map(|entry| (entry.actor.name, entry.at)))
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
    let event = drift_event("gitops.drift_detected", Severity::High, repository, key, message, payload, now);
    writing.event(event);
    Ok(())
}

fn drift_event(
    kind: &'static str,
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
