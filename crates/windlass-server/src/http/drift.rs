//! Requests about drift.

use axum::extract::{Path, State};
use windlass_api::types::{AcceptBody, AdoptBody, DriftTarget};
use windlass_control::ask::adopt::adopt_resources;
use windlass_control::ask::drift::{accept_one, report_of, revert_one, revoke_acceptance};
use windlass_control::ask::repository::find::find;
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, json_accepted, json_ok};
use crate::state::Server;

pub(crate) async fn report(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read_snapshot().await?;
    let repository = find(&mut reading, &who, &id).await?;
    json_ok(&report_of(&mut reading, &who, &repository).await?)
}

pub(crate) async fn revert(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<DriftTarget>,
) -> HandlerResult {
    json_accepted(&revert_one(&server, &who, &id, &body).await?)
}

pub(crate) async fn accept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<AcceptBody>,
) -> HandlerResult {
    json_ok(&accept_one(&server, &who, &id, &body).await?)
}

pub(crate) async fn unaccept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<DriftTarget>,
) -> HandlerResult {
    json_ok(&revoke_acceptance(&server, &who, &id, &body).await?)
}

pub(crate) async fn adopt(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<AdoptBody>,
) -> HandlerResult {
    json_ok(&adopt_resources(&server, &who, &id, &body).await?)
}
