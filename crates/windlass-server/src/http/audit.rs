//! Requests about the audit log.

use axum::extract::State;
use serde::Deserialize;
use windlass_control::ask::audit::{VerifyQuery, load_page, load_verdict};
use windlass_control::caller::Identity;

use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, QueryParams, json_ok};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct AuditQuery {
    #[serde(flatten)]
    page: PageQueryText,
    target: Option<String>,
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<AuditQuery>,
) -> HandlerResult {
    let page = query.page.read()?;
    let mut reading = server.store().read().await?;
    json_ok(&load_page(&mut reading, &who, query.target.as_deref(), &page).await?)
}

pub(crate) async fn verify(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<VerifyQuery>,
) -> HandlerResult {
    json_ok(&load_verdict(&server, &who, query).await?)
}
