//! Webhooks: showing their settings and secret, and replacing the secret.
//!
//! The response with the secret is one of the few that contain one, besides new tokens, new one-time passwords and exports
//! that show secrets. It is for people who set up webhooks, and each request for it is recorded in the audit log.

use serde_json::json;
use windlass_api::types::{WebhookInfo, WebhookReceived, WebhookRefused, WebhookShown};
use windlass_core::event::{EventKind, Severity};
use windlass_core::id::RepositoryId;
use windlass_core::repository::Repository;
use windlass_store::{Reading, Webhook};

use crate::ask::repository::find::find;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::outside;
use crate::outside::webhook::setup;
use crate::record::{self, RepositoryEvent};
use crate::refusal::Refusal;

fn info(base: &str, repository_id: &RepositoryId, webhook: Webhook) -> WebhookInfo {
    WebhookInfo {
        url: format!("{base}/api/v1/webhooks/{repository_id}"),
        generation: webhook.generation,
        last_delivery: webhook.received.map(|received| WebhookReceived {
            at: received.at.to_string(),
            sender: received.from,
            event: received.event,
            outcome: received.outcome,
        }),
        last_refusal: webhook.refused.map(|refused| WebhookRefused {
            at: refused.at.to_string(),
            address: refused.from,
            reason: refused.reason,
        }),
    }
}

/// The webhook of a repository, without its secret.
pub async fn load(
    reading: &mut Reading,
    base: &str,
    repository_id: &RepositoryId,
) -> Result<WebhookInfo, Refusal> {
    Ok(info(base, repository_id, reading.webhook(repository_id).await?))
}

/// The webhook of a repository with its secret. Records the request in the audit log.
pub async fn reveal(
    server: &Control,
    who: &Identity,
    base: &str,
    id_or_name: &str,
) -> Result<WebhookShown, Refusal> {
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    let webhook = writing.webhook(&repository.id).await?;
    let detail = json!({"generation": webhook.generation});
    let target = ("repository", repository.name.as_str());
    writing.audit(record::audit_entry(&who.actor(), "repository.show_webhook", target, detail, now()));
    server.commit(writing).await?;
    Ok(webhook_shown(server, base, &repository, webhook))
}

/// Replaces the secret of a repository's webhook.
pub async fn replace_secret(
    server: &Control,
    who: &Identity,
    base: &str,
    id_or_name: &str,
) -> Result<WebhookShown, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    let generation = writing.webhook_rotate(&repository.id).await?;
    let webhook = writing.webhook(&repository.id).await?;
    let detail = json!({"generation": generation});
    let target = ("repository", repository.name.as_str());
    writing.audit(record::audit_entry(
        &who.actor(),
        "repository.rotate_webhook",
        target,
        detail.clone(),
        now,
    ));
    let message = format!("{} replaced the webhook secret of {}", who.email, repository.name);
    let news = RepositoryEvent {
        kind: EventKind::WebhookRotated,
        severity: Severity::Low,
        by: &who.email,
        message,
        payload: detail,
    };
    writing.event(news.event(&repository, now));
    server.commit(writing).await?;
    Ok(webhook_shown(server, base, &repository, webhook))
}

fn webhook_shown(server: &Control, base: &str, repository: &Repository, webhook: Webhook) -> WebhookShown {
    let secret = outside::webhook::secret_of(server, &repository.id, webhook.generation);
    WebhookShown {
        webhook: info(base, &repository.id, webhook),
        secret: secret.text().expose().clone(),
        signing_token: secret.signing_token().expose().clone(),
        setup: setup::setup(),
    }
}
