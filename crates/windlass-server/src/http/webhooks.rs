//! Requests about webhooks.

use axum::Extension;
use axum::extract::{Path, Request, State};
use axum::http::HeaderMap;
use windlass_api::types::{WebhookAnswer, WebhookStatus};
use windlass_control::ask::webhook::{replace_secret, reveal};
use windlass_control::caller::Identity;
use windlass_control::outside::webhook;
use windlass_control::outside::webhook::outcome::DeliveryOutcome;
use windlass_core::inbound::forwarded::HttpScheme;

use crate::http::body::read_whole;
use crate::http::origin::{ClientOrigin, ClientScheme};
use crate::http::request::{HandlerResult, header_text, json_accepted, json_ok};
use crate::state::Server;

pub(crate) async fn receive(
    State(server): State<Server>,
    Path(repository): Path<String>,
    Extension(ClientOrigin { address: from, .. }): Extension<ClientOrigin>,
    request: Request,
) -> HandlerResult {
    let (parts, body) = request.into_parts();
    let body = read_whole(body).await?;
    let header = |name: &str| header_text(&parts.headers, name);
    let request =
        webhook::IncomingDelivery { repository: &repository, from: &from, header: &header, body: &body };
    let answer = |status, reason| WebhookAnswer { status, reason };
    match webhook::receive(&server, &request).await? {
        DeliveryOutcome::Accepted => json_accepted(&answer(WebhookStatus::Accepted, None)),
        DeliveryOutcome::Duplicate => json_ok(&answer(WebhookStatus::Duplicate, None)),
        DeliveryOutcome::Ignored(reason) => json_ok(&answer(WebhookStatus::Ignored, Some(reason))),
    }
}

/// The base URL at which the caller reaches this server, without a trailing slash.
pub(crate) fn base_url_of(server: &Server, headers: &HeaderMap, scheme: HttpScheme) -> String {
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

pub(crate) async fn show(
    State(server): State<Server>,
    who: Identity,
    headers: HeaderMap,
    ClientScheme(scheme): ClientScheme,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&reveal(&server, &who, &base_url_of(&server, &headers, scheme), &id).await?)
}

pub(crate) async fn rotate(
    State(server): State<Server>,
    who: Identity,
    headers: HeaderMap,
    ClientScheme(scheme): ClientScheme,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&replace_secret(&server, &who, &base_url_of(&server, &headers, scheme), &id).await?)
}
