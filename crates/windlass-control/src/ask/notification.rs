//! Notifications: testing providers, and the log of what was sent. Providers and alerts themselves are resources.

use serde_json::{Value, json};
use tokio::time::Instant;
use windlass_api::types::{DeliveryInfo, DeliveryList, ProviderTest};
use windlass_core::id::{DeliveryId, ResourceId};
use windlass_core::resource::{Kind, NotificationProviderSpec, ResourceKey, Spec};
use windlass_notify::{NotificationMessage, SendOutcome};
use windlass_store::{Delivery, DeliveryFilter, DeliveryState, Reading};

use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::outside::notify::attempt;
use crate::page::{PageQuery, cut, read_id};
use crate::record;
use crate::refusal::Refusal;

fn info(delivery: Delivery) -> DeliveryInfo {
    let text = delivery.message.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_pending = delivery.state == DeliveryState::Pending;
    DeliveryInfo {
        id: delivery.id.to_string(),
        alert: (!delivery.alert.is_empty()).then_some(delivery.alert),
        provider: delivery.provider,
        event_seq: delivery.event_seq,
        event_kind: delivery.event_kind,
        message: text,
        state: delivery.state,
        attempts: delivery.attempts,
        repeats: delivery.repeats,
        next_at: is_pending.then(|| delivery.next_at.to_string()),
        last_error: delivery.last_error,
        created_at: delivery.created_at.to_string(),
        finished_at: delivery.finished_at.map(|at| at.to_string()),
    }
}

/// A provider, by name or id.
async fn find(
    reading: &mut Reading,
    who: &Identity,
    id_or_name: &str,
) -> Result<(String, NotificationProviderSpec), Refusal> {
    let kind = Kind::NotificationProvider;
    let by_name = reading.resource(&who.account_id, &ResourceKey::new(kind, id_or_name)).await?;
    let found = match by_name {
        Some(found) => Some(found),
        None => reading.resource_by_id(&who.account_id, kind, &ResourceId::new(id_or_name)).await?,
    };
    let found = found.ok_or_else(Refusal::not_found)?;
    match found.spec.as_ref() {
        Spec::NotificationProvider(provider) => Ok((found.key.name, provider.clone())),
        _ => Err(Refusal::not_found()),
    }
}

/// Sends a test message and returns the outcome.
pub async fn send_test(server: &Control, who: &Identity, id_or_name: &str) -> Result<ProviderTest, Refusal> {
    let mut reading = server.store().read().await?;
    let (name, provider) = find(&mut reading, who, id_or_name).await?;
    drop(reading);
    let message = NotificationMessage::test(&who.account_name, &who.email, now());
    let turn = server.remote_permits().take(&who.account_id).await?;
    let begun = Instant::now();
    let tried = attempt::send_now(server, &who.account_id, (&name, &provider), &message).await?;
    let (is_ok, words) = match tried.outcome {
        SendOutcome::Done { answer } => (true, format!("{name} accepted the message: {answer}")),
        SendOutcome::Retry { reason, .. } | SendOutcome::Permanent { reason } => (false, reason),
    };
    if !is_ok {
        tokio::time::sleep_until(begun + server.config().unreached_after).await;
    }
    drop(turn);
    let mut writing = server.store().write_account(&who.account_id).await?;
    let target = (Kind::NotificationProvider.slug(), name.as_str());
    let detail = json!({"ok": is_ok, "delivery_id": tried.delivery_id});
    writing.audit(record::audit_entry(&who.actor(), "notification.test", target, detail, now()));
    server.commit(writing).await?;
    Ok(ProviderTest { ok: is_ok, message: words, delivery_id: tried.delivery_id.to_string() })
}

/// Parses a delivery state.
pub fn read_state(text: &str) -> Result<DeliveryState, Refusal> {
    DeliveryState::from_slug(text)
        .ok_or_else(|| Refusal::bad_request("state must be pending, sent, failed or suppressed", ""))
}

/// A page of the log, newest first.
pub async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    filter: &DeliveryFilter,
    page: &PageQuery,
) -> Result<DeliveryList, Refusal> {
    let limit = page.limit()?;
    let before = page.after_as(read_id)?;
    let mut found = reading.deliveries(&who.account_id, filter, before.as_ref(), limit + 1).await?;
    let meta = cut(&mut found, limit, |delivery| delivery.id.to_string());
    Ok(DeliveryList { notification_deliveries: found.into_iter().map(info).collect(), meta })
}

/// Makes a notification that was not delivered due again.
pub async fn send_again(server: &Control, who: &Identity, id: &DeliveryId) -> Result<DeliveryInfo, Refusal> {
    let mut writing = server.store().write_account(&who.account_id).await?;
    let delivery = writing.delivery(&who.account_id, id).await?.ok_or_else(Refusal::not_found)?;
    if !writing.delivery_retry(&who.account_id, id, now()).await? {
        let help = "to try the provider again, send a test message";
        return Err(Refusal::conflict("delivered", "the notification is already delivered", help));
    }
    let target = (Kind::NotificationProvider.slug(), delivery.provider.as_str());
    let detail = json!({"delivery_id": delivery.id});
    writing.audit(record::audit_entry(&who.actor(), "notification.retry", target, detail, now()));
    let delivery = writing.delivery(&who.account_id, id).await?.ok_or_else(Refusal::not_found)?;
    server.commit(writing).await?;
    server.nudges().notifications.notify_one();
    Ok(info(delivery))
}
