//! Requests about the approval policy.

use axum::extract::State;
use serde_json::Value;
use windlass_api::types::PolicyBody;
use windlass_control::ask::policy::{load, put, read};
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;
use windlass_control::refusal::Refusal;

use crate::http::request::{Answer, Body, ok, tagged};
use crate::state::Server;

pub(crate) async fn show(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    let info = load(&mut reading, &who).await?;
    tagged(ok(&info), info.version)
}

pub(crate) async fn replace(
    State(server): State<Server>,
    who: Identity,
    if_match: IfMatch,
    Body(body): Body<PolicyBody>,
) -> Answer {
    let text = match &body.policy {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let policy = read(&text).map_err(|problems| Refusal::unsound(&problems))?;
    let info = put(&server, &who, &if_match, &policy).await?;
    tagged(ok(&info), info.version)
}
