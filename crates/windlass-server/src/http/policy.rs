//! Requests about the approval policy.

use axum::extract::State;
use serde_json::Value;
use windlass_api::types::PolicyBody;
use windlass_control::ask::policy::{load, read, replace_policy};
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;
use windlass_control::refusal::Refusal;

use crate::http::request::{HandlerResult, JsonBody, json_ok, with_etag};
use crate::state::Server;

pub(crate) async fn show(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let info = load(&mut reading, &who).await?;
    with_etag(json_ok(&info), info.version)
}

pub(crate) async fn replace(
    State(server): State<Server>,
    who: Identity,
    if_match: IfMatch,
    JsonBody(body): JsonBody<PolicyBody>,
) -> HandlerResult {
    let text = match &body.policy {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let policy = read(&text).map_err(|problems| Refusal::invalid_resource(&problems))?;
    let info = replace_policy(&server, &who, &if_match, &policy).await?;
    with_etag(json_ok(&info), info.version)
}
