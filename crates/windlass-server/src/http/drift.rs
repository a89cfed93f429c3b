//! Requests about drift.

use axum::extract::{Path, State};
use windlass_api::types::{AcceptBody, AdoptBody, DriftTarget};
use windlass_control::ask::adopt::adopt_some;
use windlass_control::ask::drift::{accept_one, report_of, revert_one, unaccept_one};
use windlass_control::ask::repository::find::find;
use windlass_control::caller::Identity;

use crate::http::request::{Answer, Body, json_accepted, ok};
use crate::state::Server;

pub(crate) async fn report(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    let mut reading = server.store().read_snapshot().await?;
    let repository = find(&mut reading, &who, &id).await?;
    ok(&report_of(&mut reading, &who, &repository).await?)
}

pub(crate) async fn revert(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<DriftTarget>,
) -> Answer {
    json_accepted(&revert_one(&server, &who, &id, &body).await?)
}

pub(crate) async fn accept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<AcceptBody>,
) -> Answer {
    ok(&accept_one(&server, &who, &id, &body).await?)
}

pub(crate) async fn unaccept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<DriftTarget>,
) -> Answer {
    ok(&unaccept_one(&server, &who, &id, &body).await?)
}

pub(crate) async fn adopt(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<AdoptBody>,
) -> Answer {
    ok(&adopt_some(&server, &who, &id, &body).await?)
}
