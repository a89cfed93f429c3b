//! Requests about quarantines.

use axum::extract::{Path, State};
use windlass_api::types::RepositoryEnvelope;
use windlass_control::ask::repository::release::release_all;
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, json_ok};
use crate::state::Server;

pub(crate) async fn release(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&RepositoryEnvelope { gitops_repository: release_all(&server, &who, &id).await? })
}
