//! Requests of people about enrolment: tokens, joins and revocation.

use axum::extract::{Path, State};
use windlass_api::types::{BatchEnrollmentBody, EnrollmentBody};
use windlass_control::ask::enrolment::join::{JoinDecision, decide_join, load_joins};
use windlass_control::ask::enrolment::revoke::revoke_agent;
use windlass_control::ask::enrolment::token::{create_batch, create_for_target, load_tokens, revoke_token};
use windlass_control::caller::Identity;
use windlass_core::id::{EnrolmentTokenId, JoinId};
use windlass_core::resource::Kind;

use crate::http::request::{HandlerResult, JsonBody, json_created, json_ok, no_content};
use crate::state::Server;

pub(crate) async fn create(
    kind: Kind,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<EnrollmentBody>,
) -> HandlerResult {
    json_created(&create_for_target(&server, &who, kind, &id, &body).await?)
}

pub(crate) async fn create_several(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<BatchEnrollmentBody>,
) -> HandlerResult {
    json_created(&create_batch(&server, &who, body).await?)
}

pub(crate) async fn list_tokens(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&load_tokens(&mut reading, &who).await?)
}

pub(crate) async fn end_token(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    revoke_token(&server, &who, &EnrolmentTokenId::new(id)).await?;
    no_content()
}

pub(crate) async fn list_joins(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&load_joins(&mut reading, &who).await?)
}

pub(crate) async fn decide(
    decision: JoinDecision,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&decide_join(&server, &who, &JoinId::new(id), decision).await?)
}

pub(crate) async fn revoke(
    kind: Kind,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&revoke_agent(&server, &who, kind, &id).await?)
}
