//! Requests about notifications.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_api::types::DeliveryEnvelope;
use windlass_control::ask::notification::{load_page, read_state, send_again, send_test};
use windlass_control::caller::Identity;
use windlass_core::id::DeliveryId;
use windlass_store::DeliveryFilter;

use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, QueryParams, json_ok};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct DeliveriesQuery {
    #[serde(flatten)]
    page: PageQueryText,
    provider: Option<String>,
    state: Option<String>,
}

pub(crate) async fn test(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&send_test(&server, &who, &id).await?)
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<DeliveriesQuery>,
) -> HandlerResult {
    let page = query.page.read()?;
    let state = query.state.as_deref().filter(|state| !state.is_empty()).map(read_state).transpose()?;
    let filter = DeliveryFilter { provider: query.provider.filter(|name| !name.is_empty()), state };
    let mut reading = server.store().read().await?;
    json_ok(&load_page(&mut reading, &who, &filter, &page).await?)
}

pub(crate) async fn retry(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<DeliveryId>,
) -> HandlerResult {
    json_ok(&DeliveryEnvelope { notification_delivery: send_again(&server, &who, &id).await? })
}
