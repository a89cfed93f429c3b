//! Requests about nodes: what they shall be, and what their agents see.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_api::types::{NodeAcceptBody, NodeItemBody};
use windlass_control::ask::node::{adopt::adopt_item, detail, drift as drift_items, log as node_log};
use windlass_control::ask::node::{
    observe::request_observe, render as node_render, resolve, status, summary as roll_up,
};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;

use crate::http::request::{HandlerResult, JsonBody, QueryParams, json_accepted, json_ok};
use crate::state::Server;

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(filter): QueryParams<status::NodeFilterQuery>,
) -> HandlerResult {
    let mut reading = server.store().read_snapshot().await?;
    json_ok(&status::list(&mut reading, &who, &filter, &page).await?)
}

#[derive(Deserialize)]
pub(crate) struct SummaryQuery {
    by: Option<String>,
}

pub(crate) async fn summary(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<SummaryQuery>,
    QueryParams(filter): QueryParams<status::NodeFilterQuery>,
) -> HandlerResult {
    let mut reading = server.store().read_snapshot().await?;
    json_ok(&roll_up::summary(&mut reading, &who, &filter, query.by.as_deref()).await?)
}

pub(crate) async fn show(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read_snapshot().await?;
    json_ok(&detail::detail(&mut reading, &who, &id).await?)
}

pub(crate) async fn drift(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read_snapshot().await?;
    json_ok(&drift_items::node_drift(&mut reading, &who, &id).await?)
}

#[derive(Deserialize)]
pub(crate) struct LogQuery {
    after: Option<String>,
}

pub(crate) async fn log(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    QueryParams(page): QueryParams<PageQuery>,
    QueryParams(query): QueryParams<LogQuery>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&node_log::log(&mut reading, &who, &id, query.after.as_deref(), &page).await?)
}

pub(crate) async fn observe(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_accepted(&request_observe(&server, &who, &id).await?)
}

pub(crate) async fn revert(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_accepted(&resolve::revert_node(&server, &who, &id).await?)
}

pub(crate) async fn adopt(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<NodeItemBody>,
) -> HandlerResult {
    json_ok(&adopt_item(&server, &who, &id, &body).await?)
}

pub(crate) async fn accept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<NodeAcceptBody>,
) -> HandlerResult {
    json_ok(&resolve::accept_item(&server, &who, &id, &body).await?)
}

pub(crate) async fn unaccept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<NodeItemBody>,
) -> HandlerResult {
    json_ok(&resolve::unaccept_item(&server, &who, &id, &body).await?)
}

pub(crate) async fn render(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&node_render::render(&server, &who, &id).await?)
}
