//! Requests to create repositories in Gitea.

use axum::extract::State;
use windlass_api::types::{GiteaRepositoryBody, GiteaRepositoryEnvelope};
use windlass_control::ask::gitea::create_repository;
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, json_created};
use crate::state::Server;

pub(crate) async fn create_in_gitea(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<GiteaRepositoryBody>,
) -> HandlerResult {
    json_created(&GiteaRepositoryEnvelope { repository: create_repository(&server, &who, &body).await? })
}
