//! From events to deliveries: matches alerts, removes duplicates and limits the rate.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_core::event::{Event, EventKind, Severity};
use windlass_core::id::{AccountId, DeliveryId};
use windlass_core::resource::{AlertSeverity, NotificationProviderSpec, ProviderType};
use windlass_core::time::Timestamp;
use windlass_notify::{
    AlertEvent, DEDUPLICATION_WINDOW, MessageState, NotificationMessage, ProviderRate, RATE_WINDOW,
    RateDecision, alert_matches, group_key,
};
use windlass_store::{
    Delivery, DeliveryState, EventBacklog, EventFilter, EventOrder, Lease, StoreError, new_id,
};

use crate::account_state::names::{RepositoryNames, repository_names};
use crate::control::Control;
use crate::outside::notify::alerts::{self, ActiveAlert};
use crate::outside::notify::link;

/// Events processed in one transaction.
const AT_ONCE: usize = 200;

/// The kind of event for a delivery that was abandoned.
pub(crate) const FAILED: EventKind = EventKind::NotificationFailed;

/// A notification that an alert sends through a provider.
struct AlertMatch {
    alert: String,
    provider: String,
    group: String,
    event: Event,
    message: NotificationMessage,
}

/// What to save for a batch of events.
#[derive(Default)]
struct DeliveryBatch {
    deliveries: Vec<Delivery>,
    repeats: BTreeMap<DeliveryId, i64>,
}

/// Accounts with events that alerts have not processed, or whose last alert was removed.
pub(crate) async fn accounts_to_check(server: &Control) -> Result<Vec<EventBacklog>, StoreError> {
    let mut reading = server.store().read().await?;
    let mut found = Vec::new();
    for backlog in reading.accounts_with_backlog().await? {
        if backlog.cursor.is_some() || alerts::has_any(&mut reading, &backlog.account_id).await? {
            found.push(backlog);
        }
    }
    Ok(found)
}

/// Processes an account's new events.
pub(crate) async fn collect_deliveries(
    server: &Control,
    lease: &Lease,
    backlog: &EventBacklog,
    now: Timestamp,
) -> Result<(), StoreError> {
    let account_id = &backlog.account_id;
    let mut reading = server.store().read().await?;
    let alerts = alerts::load(&mut reading, account_id).await?;
    let Some(first) = alerts.iter().map(|alert| alert.since).min() else {
        drop(reading);
        let mut writing = server.store().write().await?;
        writing.lease_check(lease).await?;
        writing.cursor_remove(account_id).await?;
        return writing.commit().await;
    };
    let providers = alerts::load_providers(&mut reading, account_id).await?;
    let names = repository_names(&mut reading, account_id).await?;
    let Some(account) = reading.account(account_id.as_str()).await? else { return Ok(()) };
    let mut cursor = match backlog.cursor {
        Some(cursor) => cursor,
        None => reading.event_before(account_id, first).await?,
    };
    loop {
        let order = EventOrder::OldestAfter(cursor);
        let events = reading.events(account_id, &EventFilter::default(), order, AT_ONCE).await?;
        let Some(last) = events.last().map(|event| event.seq) else { return Ok(()) };
        let is_last = events.len() < AT_ONCE;
        let place = AccountContext { account: &account.name, names: &names, public_url: public_url(server) };
        let matches = match_alerts(&place, &alerts, &providers, events);
        let groups: Vec<&str> = matches.iter().map(|matched| matched.group.as_str()).collect();
        let recent =
            reading.deliveries_of_groups(account_id, &groups, now.minus(DEDUPLICATION_WINDOW)).await?;
        let sent = reading.deliveries_count(account_id, now.minus(RATE_WINDOW)).await?;
        let batch = admit(account_id, matches, recent, &sent, now);
        save(server, lease, account_id, &batch, last).await?;
        cursor = last;
        if is_last {
            return Ok(());
        }
    }
}

fn public_url(server: &Control) -> Option<&str> {
    server.config().public_url.as_deref()
}

/// The facts about the account of an event that messages show.
struct AccountContext<'p> {
    account: &'p str,
    names: &'p RepositoryNames,
    public_url: Option<&'p str>,
}

/// The notifications that alerts send about these events.
fn match_alerts(
    place: &AccountContext<'_>,
    alerts: &[ActiveAlert],
    providers: &BTreeMap<String, NotificationProviderSpec>,
    events: Vec<Event>,
) -> Vec<AlertMatch> {
    let mut found = Vec::new();
    for event in events {
        let current = alert_event(&event, place.names);
        for alert in alerts.iter().filter(|alert| alert.since <= event.at) {
            let Some(spec) = alert.spec() else { continue };
            for name in spec.providers.iter().map(|name| name.as_str()) {
                let Some(provider) = providers.get(name).filter(|_| !is_own_failure(&event, name)) else {
                    continue;
                };
                // Only Alertmanager keeps firing alerts, so only it gets a "resolved" message, from the alert that fired.
                let keeps = provider.provider_type == ProviderType::Alertmanager;
                let ended = current.resolves().filter(|ended| keeps && alert_matches(spec, ended));
                let (reported, state) = match &ended {
                    Some(ended) => (ended, MessageState::Resolved),
                    None if alert_matches(spec, &current) => (&current, MessageState::Firing),
                    None => continue,
                };
                // A "resolved" message is not a duplicate of the "firing" one, so its group is that of the new event.
                let same_as = if ended.is_some() { &current } else { reported };
                let link = link::page_of(place.public_url, &event);
                found.push(AlertMatch {
                    alert: alert.name.clone(),
                    provider: name.to_owned(),
                    group: group_key(&alert.name, name, same_as),
                    message: NotificationMessage::of(place.account, &alert.name, reported, state, link),
                    event: event.clone(),
                });
            }
        }
    }
    found
}

/// Whether an event is about a failure of this provider itself, which does not get it.
fn is_own_failure(event: &Event, provider: &str) -> bool {
    event.kind == FAILED.slug() && event.payload.get("provider").and_then(Value::as_str) == Some(provider)
}

fn alert_event(event: &Event, names: &RepositoryNames) -> AlertEvent {
    let severity = match event.severity {
        Severity::Low => AlertSeverity::Low,
        Severity::Medium => AlertSeverity::Medium,
        Severity::High => AlertSeverity::High,
        Severity::Critical => AlertSeverity::Critical,
    };
    AlertEvent {
        seq: event.seq,
        kind: event.kind.clone(),
        severity,
        resource: event.resource_kind.clone().zip(event.resource_name.clone()),
        repository: event.repository_id.as_ref().and_then(|id| names.get(id).cloned()),
        run_id: event.correlation_id.clone(),
        source: event.source.clone(),
        message: event.message.clone(),
        at: event.at,
    }
}

/// Decides about each notification: send it, count it as a duplicate, or leave it to a digest.
fn admit(
    account_id: &AccountId,
    matches: Vec<AlertMatch>,
    mut recent: BTreeMap<String, DeliveryId>,
    sent: &BTreeMap<String, usize>,
    now: Timestamp,
) -> DeliveryBatch {
    let mut batch = DeliveryBatch::default();
    let mut rates: BTreeMap<String, ProviderRate> =
        sent.iter().map(|(provider, count)| (provider.clone(), ProviderRate::after(*count))).collect();
    for matched in matches {
        if let Some(id) = recent.get(&matched.group) {
            *batch.repeats.entry(id.clone()).or_default() += 1;
            continue;
        }
        let state = match rates.entry(matched.provider.clone()).or_default().admit() {
            RateDecision::Send => DeliveryState::Pending,
            RateDecision::Suppress => DeliveryState::Suppressed,
        };
        let delivery = Delivery {
            state,
            event_seq: Some(matched.event.seq),
            ..new_delivery(
                account_id,
                (&matched.alert, &matched.provider),
                &matched.group,
                &matched.message,
                now,
            )
        };
        recent.insert(matched.group, delivery.id.clone());
        batch.deliveries.push(delivery);
    }
    batch
}

/// A new delivery that is due now.
pub(crate) fn new_delivery(
    account_id: &AccountId,
    (alert, provider): (&str, &str),
    group: &str,
    message: &NotificationMessage,
    now: Timestamp,
) -> Delivery {
    Delivery {
        id: new_id(),
        account_id: account_id.clone(),
        alert: alert.to_owned(),
        provider: provider.to_owned(),
        event_seq: None,
        event_kind: message.kind.clone(),
        group_key: group.to_owned(),
        message: serde_json::json!(message),
        state: DeliveryState::Pending,
        attempts: 0,
        repeats: 0,
        next_at: now,
        last_error: None,
        since: now,
        created_at: now,
        finished_at: None,
    }
}

async fn save(
    server: &Control,
    lease: &Lease,
    account_id: &AccountId,
    batch: &DeliveryBatch,
    seq: i64,
) -> Result<(), StoreError> {
    let mut writing = server.store().write().await?;
    writing.lease_check(lease).await?;
    writing.deliveries_add(&batch.deliveries).await?;
    for (id, times) in &batch.repeats {
        writing.delivery_add_repeats(id, *times).await?;
    }
    writing.cursor_set(account_id, seq).await?;
    writing.commit().await
}

/// Queues a digest of the suppressed deliveries of each provider, once its rate limit allows it.
pub(crate) async fn queue_digests(server: &Control, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let suppressed = reading.deliveries_without_digest().await?;
    let mut ready = Vec::new();
    for (account_id, provider, count) in suppressed {
        let sent = reading.deliveries_count(&account_id, now.minus(RATE_WINDOW)).await?;
        let Some(account) = reading.account(account_id.as_str()).await? else { continue };
        if ProviderRate::after(sent.get(&provider).copied().unwrap_or(0)).has_room() {
            ready.push((account, provider, count));
        }
    }
    drop(reading);
    for (account, provider, count) in ready {
        let link = link::page(public_url(server), &["events"], &[]);
        let message = NotificationMessage::digest(&account.name, count, link, now);
        let digest = new_delivery(&account.id, ("", &provider), "", &message, now);
        let mut writing = server.store().write().await?;
        writing.lease_check(lease).await?;
        writing.deliveries_mark_digested(&account.id, &provider, &digest.id).await?;
        writing.deliveries_add(std::slice::from_ref(&digest)).await?;
        writing.commit().await?;
    }
    Ok(())
}
