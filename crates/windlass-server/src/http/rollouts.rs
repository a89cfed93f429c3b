//! Requests about rollouts.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_api::types::RolloutDecisionBody;
use windlass_control::ask::rollout::{self, RolloutQuery, decide, load_page};
use windlass_control::caller::Identity;
use windlass_core::id::RolloutId;
use windlass_core::rollout::RolloutAction;

use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, JsonBody, QueryParams, json_ok};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct RolloutsQuery {
    #[serde(flatten)]
    page: PageQueryText,
    #[serde(flatten)]
    choice: RolloutQuery,
}

#[derive(Deserialize)]
pub(crate) struct NodesQuery {
    nodes: Option<String>,
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<RolloutsQuery>,
) -> HandlerResult {
    let page = query.page.read()?;
    let mut reading = server.store().read().await?;
    json_ok(&load_page(&mut reading, &who, &query.choice, &page).await?)
}

pub(crate) async fn show(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RolloutId>,
    QueryParams(query): QueryParams<NodesQuery>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&rollout::show(&mut reading, &who, &id, query.nodes.as_deref()).await?)
}

pub(crate) async fn pause(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RolloutId>,
    JsonBody(body): JsonBody<RolloutDecisionBody>,
) -> HandlerResult {
    json_ok(&decide(&server, &who, &id, RolloutAction::Pause, &body).await?)
}

pub(crate) async fn resume(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RolloutId>,
    JsonBody(body): JsonBody<RolloutDecisionBody>,
) -> HandlerResult {
    json_ok(&decide(&server, &who, &id, RolloutAction::Resume, &body).await?)
}

pub(crate) async fn abort(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RolloutId>,
    JsonBody(body): JsonBody<RolloutDecisionBody>,
) -> HandlerResult {
    json_ok(&decide(&server, &who, &id, RolloutAction::Abort, &body).await?)
}

pub(crate) async fn promote(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RolloutId>,
    JsonBody(body): JsonBody<RolloutDecisionBody>,
) -> HandlerResult {
    json_ok(&decide(&server, &who, &id, RolloutAction::Promote, &body).await?)
}
