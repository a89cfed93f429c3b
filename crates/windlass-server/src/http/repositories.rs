//! Requests about repositories.

use axum::extract::{Path, State};
use windlass_api::types::{RepositoryBody, RepositoryEnvelope, RepositoryList};
use windlass_control::ask::repository::fields::info;
use windlass_control::ask::repository::find::{find, load_all};
use windlass_control::ask::repository::register::{clear_host_keys, configure, register, unregister};
use windlass_control::ask::repository::test::{test_registered, test_unregistered};
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;
use windlass_core::repository::Repository;

use crate::http::request::{HandlerResult, JsonBody, json_created, json_ok, no_content, with_etag};
use crate::state::Server;

fn answer(repository: &Repository) -> RepositoryEnvelope {
    RepositoryEnvelope { gitops_repository: info(repository) }
}

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&RepositoryList { gitops_repositories: load_all(&mut reading, &who).await? })
}

pub(crate) async fn show(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    drop(reading);
    with_etag(json_ok(&answer(&repository)), repository.version)
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<RepositoryBody>,
) -> HandlerResult {
    let stored = register(&server, &who, body.gitops_repository).await?;
    let version = stored.version;
    with_etag(json_created(&RepositoryEnvelope { gitops_repository: stored }), version)
}

pub(crate) async fn change(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    if_match: IfMatch,
    JsonBody(body): JsonBody<RepositoryBody>,
) -> HandlerResult {
    let stored = configure(&server, &who, &id, &if_match, body.gitops_repository).await?;
    let version = stored.version;
    with_etag(json_ok(&RepositoryEnvelope { gitops_repository: stored }), version)
}

pub(crate) async fn remove(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    unregister(&server, &who, &id).await?;
    no_content()
}

pub(crate) async fn forget_host_keys(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&RepositoryEnvelope { gitops_repository: clear_host_keys(&server, &who, &id).await? })
}

pub(crate) async fn probe(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<RepositoryBody>,
) -> HandlerResult {
    json_ok(&test_unregistered(&server, &who, body.gitops_repository).await?)
}

pub(crate) async fn test(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    json_ok(&test_registered(&server, &who, &id).await?)
}
