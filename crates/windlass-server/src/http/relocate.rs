//! Requests about moving repositories.

use axum::extract::{Path, State};
use windlass_api::types::{MoveBody, RepositoryEnvelope};
use windlass_control::ask::repository::relocate::relocate_to;
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, json_ok};
use crate::state::Server;

pub(crate) async fn relocate(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<MoveBody>,
) -> HandlerResult {
    json_ok(&RepositoryEnvelope { gitops_repository: relocate_to(&server, &who, &id, &body.account).await? })
}
