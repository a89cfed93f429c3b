//! From events to deliveries: which alerts tell them, what was told already, and what is too much.

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

/// Events looked at with one transaction.
const AT_ONCE: usize = 200;

/// The kind of event that tells of a delivery that was given up.
pub(crate) const FAILED: EventKind = EventKind::NotificationFailed;

/// What an alert tells through a provider.
struct AlertMatch {
    alert: String,
    provider: String,
    group: String,
    event: Event,
    message: NotificationMessage,
}

/// What is to be saved for some events.
#[derive(Default)]
struct DeliveryBatch {
    deliveries: Vec<Delivery>,
    repeats: BTreeMap<DeliveryId, i64>,
}

/// Accounts with events that alerts have not seen, or that have no alerts any more.
pub(crate) async fn accounts_to_look_at(server: &Control) -> Result<Vec<EventBacklog>, StoreError> {
    let mut reading = server.store().read().await?;
    let mut found = Vec::new();
    for behind in reading.accounts_with_backlog().await? {
        if behind.cursor.is_some() || alerts::has_any(&mut reading, &behind.account_id).await? {
            found.push(behind);
        }
    }
    Ok(found)
}

/// Looks at an account's new events.
pub(crate) async fn collect_deliveries(
    server: &Control,
    lease: &Lease,
    behind: &EventBacklog,
    now: Timestamp,
) -> Result<(), StoreError> {
    let account_id = &behind.account_id;
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
    let mut cursor = match behind.cursor {
        Some(cursor) => cursor,
        None => reading.event_before(account_id, first).await?,
    };
    loop {
        let order = EventOrder::OldestAfter(cursor);
        let events = reading.events(account_id, &EventFilter::default(), order, AT_ONCE).await?;
        let Some(last) = events.last().map(|event| event.seq) else { return Ok(()) };
        let is_last = events.len() < AT_ONCE;
        let place = AccountContext { account: &account.name, names: &names, public_url: public_url(server) };
        let tellings = match_alerts(&place, &alerts, &providers, events);
        let groups: Vec<&str> = tellings.iter().map(|telling| telling.group.as_str()).collect();
        let told = reading.deliveries_of_groups(account_id, &groups, now.minus(DEDUPLICATION_WINDOW)).await?;
        let sent = reading.deliveries_counted(account_id, now.minus(RATE_WINDOW)).await?;
        let batch = admit(account_id, tellings, told, &sent, now);
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

/// What is known of the account an event happened in.
struct AccountContext<'p> {
    account: &'p str,
    names: &'p RepositoryNames,
    public_url: Option<&'p str>,
}

/// Everything that alerts tell of these events.
fn match_alerts(
    place: &AccountContext<'_>,
    alerts: &[ActiveAlert],
    providers: &BTreeMap<String, NotificationProviderSpec>,
    events: Vec<Event>,
) -> Vec<AlertMatch> {
    let mut found = Vec::new();
    for event in events {
        let happening = alert_event(&event, place.names);
        for alert in alerts.iter().filter(|alert| alert.since <= event.at) {
            let Some(spec) = alert.spec() else { continue };
            for name in spec.providers.iter().map(|name| name.as_str()) {
                let Some(provider) = providers.get(name).filter(|_| !is_own_failure(&event, name)) else {
                    continue;
                };
                // Only a receiver that keeps what is going on is told that it is over, by what told it.
                let keeps = provider.provider_type == ProviderType::Alertmanager;
                let ended = happening.resolves().filter(|ended| keeps && alert_matches(spec, ended));
                let (told, state) = match &ended {
                    Some(ended) => (ended, MessageState::Resolved),
                    None if alert_matches(spec, &happening) => (&happening, MessageState::Firing),
                    None => continue,
                };
                // What is over is not the same as what began.
                let same_as = if ended.is_some() { &happening } else { told };
                let link = link::page_of(place.public_url, &event);
                found.push(AlertMatch {
                    alert: alert.name.clone(),
                    provider: name.to_owned(),
                    group: group_key(&alert.name, name, same_as),
                    message: NotificationMessage::of(place.account, &alert.name, told, state, link),
                    event: event.clone(),
                });
            }
        }
    }
    found
}

/// A provider that fails is not told that it does.
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

/// Decides what becomes of each: sent, counted as the same, or told of by a digest.
fn admit(
    account_id: &AccountId,
    tellings: Vec<AlertMatch>,
    mut told: BTreeMap<String, DeliveryId>,
    sent: &BTreeMap<String, usize>,
    now: Timestamp,
) -> DeliveryBatch {
    let mut batch = DeliveryBatch::default();
    let mut paces: BTreeMap<String, ProviderRate> =
        sent.iter().map(|(provider, count)| (provider.clone(), ProviderRate::after(*count))).collect();
    for telling in tellings {
        if let Some(id) = told.get(&telling.group) {
            *batch.repeats.entry(id.clone()).or_default() += 1;
            continue;
        }
        let state = match paces.entry(telling.provider.clone()).or_default().admit() {
            RateDecision::Send => DeliveryState::Pending,
            RateDecision::Suppress => DeliveryState::Suppressed,
        };
        let delivery = Delivery {
            state,
            event_seq: Some(telling.event.seq),
            ..new_delivery(
                account_id,
                (&telling.alert, &telling.provider),
                &telling.group,
                &telling.message,
                now,
            )
        };
        told.insert(telling.group, delivery.id.clone());
        batch.deliveries.push(delivery);
    }
    batch
}

/// A delivery that is due.
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
        writing.delivery_repeated(id, *times).await?;
    }
    writing.cursor_set(account_id, seq).await?;
    writing.commit().await
}

/// Tells providers how much they were not told one by one, once there is room for it.
pub(crate) async fn queue_digests(server: &Control, lease: &Lease, now: Timestamp) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let untold = reading.deliveries_untold().await?;
    let mut ready = Vec::new();
    for (account_id, provider, count) in untold {
        let sent = reading.deliveries_counted(&account_id, now.minus(RATE_WINDOW)).await?;
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
        writing.deliveries_digested(&account.id, &provider, &digest.id).await?;
        writing.deliveries_add(std::slice::from_ref(&digest)).await?;
        writing.commit().await?;
    }
    Ok(())
}
