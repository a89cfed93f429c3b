//! Requests about API tokens.

use axum::extract::{Path, State};
use windlass_api::types::{TokenBody, TokenList};
use windlass_control::ask::token::{create_token, load_all, revoke_token};
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, json_created, json_ok, no_content};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&TokenList { tokens: load_all(&mut reading, &who).await? })
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<TokenBody>,
) -> HandlerResult {
    json_created(&create_token(&server, &who, body).await?)
}

pub(crate) async fn revoke(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    revoke_token(&server, &who, &id).await?;
    no_content()
}
