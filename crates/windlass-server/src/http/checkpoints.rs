//! Requests about checkpoints of the audit log.

use axum::extract::State;
use serde::Deserialize;
use windlass_api::types::CheckpointEnvelope;
use windlass_control::ask::checkpoint::{load_page, sign_now, signing_keys};
use windlass_control::caller::Identity;

use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, QueryParams, json_created, json_ok};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct CheckpointsQuery {
    #[serde(flatten)]
    page: PageQueryText,
    chain: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct ChainQuery {
    chain: Option<String>,
}

pub(crate) async fn keys(State(server): State<Server>, _who: Identity) -> HandlerResult {
    json_ok(&signing_keys(&server).await?)
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<CheckpointsQuery>,
) -> HandlerResult {
    json_ok(&load_page(&server, &who, query.chain.as_deref(), &query.page.read()?).await?)
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<ChainQuery>,
) -> HandlerResult {
    json_created(&CheckpointEnvelope { checkpoint: sign_now(&server, &who, query.chain.as_deref()).await? })
}
