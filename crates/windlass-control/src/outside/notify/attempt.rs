//! Sends due notifications and stores the outcome.

use std::sync::Arc;

use rand::RngExt as _;
use serde_json::json;
use tokio::sync::Notify;
use windlass_core::event::{NewEvent, Severity};
use windlass_core::fairness::LastResult;
use windlass_core::id::{AccountId, DeliveryId};
use windlass_core::resource::{Kind, NotificationProviderSpec, ResourceKey};
use windlass_core::time::Timestamp;
use windlass_notify::{
    CredentialFields, NotificationMessage, OutgoingMessage, SendOutcome, next_attempt, render,
};
use windlass_store::{Delivery, DeliveryAttempt, DeliveryState, Lease, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::metrics;
use crate::outside::notify::alerts::find_provider;
use crate::outside::notify::collect::{FAILED, new_delivery};
use crate::pace::workers::{QueuedJob, Workers};

/// Deliveries read at a time: enough to find some of each account that has some.
const READ_AT_ONCE: usize = 200;

/// The outcome of an attempt.
#[derive(Clone, Debug)]
pub(crate) struct AttemptResult {
    pub(crate) delivery_id: DeliveryId,
    pub(crate) outcome: SendOutcome,
}

/// Whether a delivery is due, or a digest may be.
pub(crate) async fn has_work(server: &Control, now: Timestamp) -> Result<bool, StoreError> {
    let mut reading = server.store().read().await?;
    Ok(!reading.deliveries_due(now, 1).await?.is_empty()
        || !reading.deliveries_without_digest().await?.is_empty())
}

/// Starts sending due deliveries. Returns whether any is due, including those that are being sent already.
pub(crate) async fn start_due_deliveries(
    server: &Control,
    lease: &Lease,
    workers: &mut Workers,
    ended: &Arc<Notify>,
) -> Result<bool, StoreError> {
    let busy = workers.busy_lanes();
    let due = server.store().read().await?.deliveries_due(now(), READ_AT_ONCE).await?;
    let is_work = !due.is_empty();
    let waiting = due.into_iter().map(|delivery| QueuedJob {
        account: delivery.account_id.clone(),
        lane: delivery.id.to_string(),
        last_result: if delivery.attempts == 0 { LastResult::Proven } else { LastResult::Unproven },
        task: delivery,
    });
    let work = |delivery: Delivery| {
        let (server, lease) = (server.clone(), lease.clone());
        async move { send_one(&server, &lease, delivery).await }
    };
    let (server, ended) = (server.clone(), Arc::clone(ended));
    workers.begin(waiting.collect(), &busy, work, move |sent| {
        if let Err(error) = sent {
            server.report_problem("notifications", &error);
        }
        ended.notify_one();
    });
    Ok(is_work)
}

async fn send_one(server: &Control, lease: &Lease, delivery: Delivery) -> Result<(), StoreError> {
    let mut stopping = server.watch_stopping();
    let outcome = tokio::select! {
        outcome = attempt(server, &delivery) => outcome?,
        // It stays due, so the server sends it after the next start.
        _ = stopping.wait_for(|is_stopping| *is_stopping) => return Ok(()),
    };
    crash_point("notify.sent");
    save(server, lease, &delivery, &outcome).await
}

/// Sends one delivery and returns the outcome.
async fn attempt(server: &Control, delivery: &Delivery) -> Result<SendOutcome, StoreError> {
    let mut reading = server.store().read().await?;
    let provider = find_provider(&mut reading, &delivery.account_id, &delivery.provider).await?;
    let account = reading.account(delivery.account_id.as_str()).await?;
    drop(reading);
    let (Some(provider), Some(account)) = (provider, account) else {
        return Ok(SendOutcome::Permanent { reason: "the provider no longer exists".to_owned() });
    };
    Ok(send(server, &provider, &account.name, delivery).await)
}

async fn send(
    server: &Control,
    provider: &NotificationProviderSpec,
    account: &str,
    delivery: &Delivery,
) -> SendOutcome {
    let Ok(message) = serde_json::from_value::<NotificationMessage>(delivery.message.clone()) else {
        return SendOutcome::Permanent { reason: "the stored message cannot be read".to_owned() };
    };
    let fields = match &provider.credential_path {
        None => CredentialFields::new(),
        Some(path) => match server.config().credentials.read(account, path.as_str()).await {
            Ok(fields) => fields,
            // Someone may store the credential or unseal Vault later.
            Err(error) => return SendOutcome::Retry { reason: error.to_string(), after: None },
        },
    };
    let payload = render(provider, &message, delivery.id.as_str());
    let parcel = OutgoingMessage {
        payload: &payload,
        delivery: delivery.id.as_str(),
        kind: &delivery.event_kind,
        now: now(),
    };
    server.sender().send(provider, &fields, parcel).await
}

/// Sends a message now and stores the outcome in the log, without automatic retries.
pub(crate) async fn send_now(
    server: &Control,
    account_id: &AccountId,
    provider: (&str, &NotificationProviderSpec),
    message: &NotificationMessage,
) -> Result<AttemptResult, StoreError> {
    let mut delivery = new_delivery(account_id, ("", provider.0), "", message, now());
    let outcome = send(server, provider.1, &message.account, &delivery).await;
    let (state, error) = match &outcome {
        SendOutcome::Done { .. } => (DeliveryState::Sent, None),
        SendOutcome::Retry { reason, .. } | SendOutcome::Permanent { reason } => {
            (DeliveryState::Failed, Some(reason.clone()))
        }
    };
    delivery.state = state;
    delivery.last_error = error;
    delivery.attempts = 1;
    delivery.finished_at = Some(now());
    let mut writing = server.store().write().await?;
    writing.deliveries_add(std::slice::from_ref(&delivery)).await?;
    writing.commit().await?;
    Ok(AttemptResult { delivery_id: delivery.id, outcome })
}

/// The new state of a delivery after an attempt.
fn delivery_update(
    delivery: &Delivery,
    outcome: &SendOutcome,
    now: Timestamp,
    jitter: f64,
) -> DeliveryAttempt {
    let attempts = u32::try_from(delivery.attempts + 1).unwrap_or(u32::MAX);
    let (state, next_at, error) = match outcome {
        SendOutcome::Done { .. } => (DeliveryState::Sent, now, None),
        SendOutcome::Permanent { reason } => (DeliveryState::Failed, now, Some(reason.clone())),
        SendOutcome::Retry { reason, after } => {
            match next_attempt(attempts, delivery.since, now, jitter, *after) {
                Some(next) => (DeliveryState::Pending, next, Some(reason.clone())),
                None => (DeliveryState::Failed, now, Some(format!("abandoned: {reason}"))),
            }
        }
    };
    DeliveryAttempt { state, next_at, error, at: now }
}

async fn save(
    server: &Control,
    lease: &Lease,
    delivery: &Delivery,
    outcome: &SendOutcome,
) -> Result<(), StoreError> {
    let now = now();
    let tried = delivery_update(delivery, outcome, now, rand::rng().random_range(0.0..1.0));
    metrics::notification(tried.state.slug());
    let mut writing = server.store().write_account(&delivery.account_id).await?;
    writing.lease_check(lease).await?;
    let is_saved = writing.delivery_record_attempt(&delivery.id, &tried).await?;
    // A failed notification about a failure creates no event: two broken providers would notify about each other endlessly.
    if is_saved && tried.state == DeliveryState::Failed && delivery.event_kind != FAILED.slug() {
        writing.event(failure(delivery, tried.error.as_deref().unwrap_or_default(), now));
    }
    server.commit(writing).await
}

fn failure(delivery: &Delivery, reason: &str, now: Timestamp) -> NewEvent {
    NewEvent {
        kind: FAILED,
        severity: Severity::High,
        resource: Some(ResourceKey::new(Kind::NotificationProvider, delivery.provider.clone())),
        repository_id: None,
        correlation_id: None,
        source: "windlass".to_owned(),
        message: format!("abandoned a notification through {}: {reason}", delivery.provider),
        payload: json!({
            "provider": delivery.provider, "alert": delivery.alert, "delivery_id": delivery.id,
            "event_seq": delivery.event_seq, "event_kind": delivery.event_kind,
        }),
        at: now,
    }
}
