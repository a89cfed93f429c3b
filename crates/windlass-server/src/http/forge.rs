//! Requests about repositories that are made in Gitea.

use axum::extract::State;
use windlass_api::types::{GiteaRepositoryBody, GiteaRepositoryEnvelope};
use windlass_control::ask::gitea::make;
use windlass_control::caller::Identity;

use crate::http::request::{Answer, Body, created};
use crate::state::Server;

pub(crate) async fn create_in_gitea(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<GiteaRepositoryBody>,
) -> Answer {
    created(&GiteaRepositoryEnvelope { repository: make(&server, &who, &body).await? })
}
