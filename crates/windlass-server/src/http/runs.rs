//! Requests about sync runs.

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::json;
use windlass_api::types::{RunEnvelope, SyncBody};
use windlass_control::ask::repository::find::find;
use windlass_control::ask::run::request::request_sync;
use windlass_control::ask::run::show::{load, load_page};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_core::id::RunId;

use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, JsonBody, QueryParams, json_accepted, json_ok};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct RunWaitQuery {
    wait: Option<u64>,
}

#[derive(Deserialize)]
pub(crate) struct RunsQuery {
    #[serde(flatten)]
    page: PageQueryText,
    repository: Option<String>,
}

pub(crate) async fn sync_now(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    QueryParams(query): QueryParams<RunWaitQuery>,
    JsonBody(body): JsonBody<SyncBody>,
) -> HandlerResult {
    let run_id = request_sync(&server, &who, &id, &body).await?;
    let info = load(&server, &who, &run_id, query.wait.unwrap_or(0)).await?;
    json_accepted(&RunEnvelope { sync_run: info })
}

pub(crate) async fn list_of_repository(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    QueryParams(page): QueryParams<PageQuery>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    json_ok(&load_page(&mut reading, &who, Some(&repository.id), &page).await?)
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<RunsQuery>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = match &query.repository {
        Some(repository) => Some(find(&mut reading, &who, repository).await?.id),
        None => None,
    };
    json_ok(&load_page(&mut reading, &who, repository.as_ref(), &query.page.read()?).await?)
}

pub(crate) async fn show(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RunId>,
    QueryParams(query): QueryParams<RunWaitQuery>,
) -> HandlerResult {
    let info = load(&server, &who, &id, query.wait.unwrap_or(0)).await?;
    // The run's fields at the top level, as in the runbook, and under `sync_run`, as in every other response.
    let mut body = json!(info);
    body["sync_run"] = json!(info);
    json_ok(&body)
}
