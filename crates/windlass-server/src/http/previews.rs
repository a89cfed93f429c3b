//! Requests about previews.

use std::time::Duration;

use axum::extract::{Path, Request, State};
use windlass_api::types::{PreviewBody, PreviewEnvelope, PreviewList};
use windlass_control::ask::preview::{LISTED, create_preview, load, load_list};
use windlass_control::ask::repository::find::find;
use windlass_control::caller::Identity;
use windlass_control::refusal::{Refusal, RefusalKind};
use windlass_core::id::PreviewId;

use crate::http::body::read_reserving;
use crate::http::request::{HandlerResult, json_created, json_ok, read_json};
use crate::state::Server;

/// The largest body: files of 64 MiB, plus the escapes that JSON needs for line ends and quotes.
const MAX_BODY: usize = 96 * 1024 * 1024;

/// How long the client may take to send it.
const BODY_WITHIN: Duration = Duration::from_secs(60);

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    request: Request,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    drop(reading);
    let mut held = server.preview_bodies().begin(&who.account_id);
    let reading = read_reserving(request.into_body(), MAX_BODY, |bytes| Ok(held.take(bytes)?));
    let bytes = tokio::time::timeout(BODY_WITHIN, reading).await.map_err(|_| too_slow())??;
    // Taken only after the body was received, so that a slow client does not block others.
    let permit = server.preview_permits().take(&who.account_id).await?;
    let body: PreviewBody = read_json(&bytes)?;
    drop((bytes, held));
    json_created(&PreviewEnvelope { preview: create_preview(&server, &who, repository, body, permit).await? })
}

fn too_slow() -> Refusal {
    let help = "send it faster, or let the server fetch a branch with `ref`";
    Refusal::new(RefusalKind::TooSlow, "too-slow", "the request body took more than a minute to arrive", help)
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    json_ok(&PreviewList { previews: load_list(&mut reading, &repository, LISTED).await? })
}

pub(crate) async fn show(
    State(server): State<Server>,
    who: Identity,
    Path((id, preview_id)): Path<(String, PreviewId)>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    let preview = load(&mut reading, &who, &preview_id).await?;
    match preview.repository_id == repository.id.as_str() {
        true => json_ok(&PreviewEnvelope { preview }),
        false => Err(Refusal::not_found().into()),
    }
}
