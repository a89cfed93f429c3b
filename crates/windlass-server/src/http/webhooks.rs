//! Webhooks: taking deliveries, and showing what a forge has to be told.
//!
//! Beside that of a token that was just made, this is the one answer that holds a secret: it is for those who set
//! webhooks up, and every look is on the record.

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use serde_json::json;
use windlass_api::types::{
    WebhookAnswer, WebhookInfo, WebhookReceived, WebhookRefused, WebhookShown, WebhookStatus,
};
use windlass_core::inbound::forwarded::Scheme;
use windlass_store::{Reading, Repository, Severity, Webhook};

use super::body::read_whole;
use super::origin::{ClientScheme, Origin};
use super::repositories::find;
use super::request::{Answer, header_text, json_accepted, ok};
use crate::auth::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::refusal::{Refusal, RefusalKind};
use crate::server::Server;
use crate::tell;
use crate::webhook::{self, Outcome, Unwelcome};

pub(super) async fn receive(
    State(server): State<Server>,
    Path(repository): Path<String>,
    Extension(Origin { address: from, .. }): Extension<Origin>,
    request: Request,
) -> Answer {
    let (parts, body) = request.into_parts();
    let body = read_whole(body).await?;
    let header = |name: &str| header_text(&parts.headers, name);
    let request = webhook::Request { repository: &repository, from: &from, header: &header, body: &body };
    let answer = |status, reason| WebhookAnswer { status, reason };
    match webhook::receive(&server, &request).await? {
        Outcome::Accepted => json_accepted(&answer(WebhookStatus::Accepted, None)),
        Outcome::Duplicate => ok(&answer(WebhookStatus::Duplicate, None)),
        Outcome::Ignored(reason) => ok(&answer(WebhookStatus::Ignored, Some(reason))),
    }
}

impl std::convert::From<Unwelcome> for Refusal {
    fn from(unwelcome: Unwelcome) -> Refusal {
        match unwelcome {
            Unwelcome::Refused => {
                let message = "this is not a delivery that is signed for this webhook";
                let help = "check the URL and the secret with `windlass repo webhook`";
                Refusal::new(RefusalKind::Unauthenticated, "webhook-refused", message, help)
            }
            Unwelcome::TooMany(wait) => Refusal::too_many(
                "too many deliveries",
                wait,
                "a push that is signed rightly is looked at all the same",
            ),
            Unwelcome::Store(error) => error.into(),
        }
    }
}

/// Where this server is reached by whoever asks, without a slash at the end.
pub(crate) fn reached_at(server: &Server, headers: &HeaderMap, scheme: Scheme) -> String {
    let (config, scheme) = (server.config(), scheme.word());
    let is_host = |host: &&str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".:-[]".contains(&byte))
    };
    match (&config.control.public_url, header_text(headers, "host").filter(is_host)) {
        (Some(url), _) => url.trim_end_matches('/').to_owned(),
        (None, Some(host)) => format!("{scheme}://{host}"),
        (None, None) => format!("{scheme}://{}", config.listen),
    }
}

fn info(base: &str, repository_id: &str, webhook: Webhook) -> WebhookInfo {
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
pub(crate) async fn load(
    reading: &mut Reading,
    base: &str,
    repository_id: &str,
) -> Result<WebhookInfo, Refusal> {
    Ok(info(base, repository_id, reading.webhook(repository_id).await?))
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    headers: HeaderMap,
    ClientScheme(scheme): ClientScheme,
    Path(id): Path<String>,
) -> Answer {
    ok(&reveal(&server, &who, &reached_at(&server, &headers, scheme), &id).await?)
}

/// The webhook of a repository with its secret. The look is on the record.
pub(crate) async fn reveal(
    server: &Control,
    who: &Identity,
    base: &str,
    id: &str,
) -> Result<WebhookShown, Refusal> {
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id).await?;
    let webhook = writing.webhook(&repository.id).await?;
    let detail = json!({"generation": webhook.generation});
    let target = ("repository", repository.name.as_str());
    writing.audit(tell::entry(&who.actor(), "repository.show_webhook", target, detail, now()));
    server.commit(writing).await?;
    Ok(shown(server, base, &repository, webhook))
}

pub(super) async fn rotate(
    State(server): State<Server>,
    who: Identity,
    headers: HeaderMap,
    ClientScheme(scheme): ClientScheme,
    Path(id): Path<String>,
) -> Answer {
    ok(&replace_secret(&server, &who, &reached_at(&server, &headers, scheme), &id).await?)
}

/// Replaces the secret of a repository's webhook.
pub(crate) async fn replace_secret(
    server: &Control,
    who: &Identity,
    base: &str,
    id: &str,
) -> Result<WebhookShown, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id).await?;
    let generation = writing.webhook_rotate(&repository.id).await?;
    let webhook = writing.webhook(&repository.id).await?;
    let detail = json!({"generation": generation});
    let target = ("repository", repository.name.as_str());
    writing.audit(tell::entry(&who.actor(), "repository.rotate_webhook", target, detail.clone(), now));
    let message = format!("{} replaced the secret of the webhook of {}", who.email, repository.name);
    let (kind, by) = ("gitops.webhook_rotated", &who.email);
    writing.event(tell::repository_event(kind, Severity::Low, &repository, by, message, detail, now));
    server.commit(writing).await?;
    Ok(shown(server, base, &repository, webhook))
}

fn shown(server: &Control, base: &str, repository: &Repository, webhook: Webhook) -> WebhookShown {
    let secret = webhook::secret_of(server, &repository.id, webhook.generation);
    WebhookShown {
        webhook: info(base, &repository.id, webhook),
        secret: secret.text().expose().clone(),
        signing_token: secret.signing_token().expose().clone(),
        setup: webhook::setup(),
    }
}
