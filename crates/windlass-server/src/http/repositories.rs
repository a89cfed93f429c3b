//! Requests about repositories.

use axum::extract::{Path, State};
use windlass_api::types::{RepositoryBody, RepositoryEnvelope, RepositoryList};
use windlass_control::ask::repository::fields::info;
use windlass_control::ask::repository::find::{find, load_all};
use windlass_control::ask::repository::register::{configure, forget, register, unregister};
use windlass_control::ask::repository::test::{examine_new, examine_registered};
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;
use windlass_core::repository::Repository;

use crate::http::request::{Answer, Body, created, done, ok, tagged};
use crate::state::Server;

fn answer(repository: &Repository) -> RepositoryEnvelope {
    RepositoryEnvelope { gitops_repository: info(repository) }
}

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    ok(&RepositoryList { gitops_repositories: load_all(&mut reading, &who).await? })
}

pub(crate) async fn show(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    drop(reading);
    tagged(ok(&answer(&repository)), repository.version)
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<RepositoryBody>,
) -> Answer {
    let stored = register(&server, &who, body.gitops_repository).await?;
    let version = stored.version;
    tagged(created(&RepositoryEnvelope { gitops_repository: stored }), version)
}

pub(crate) async fn change(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    if_match: IfMatch,
    Body(body): Body<RepositoryBody>,
) -> Answer {
    let stored = configure(&server, &who, &id, &if_match, body.gitops_repository).await?;
    let version = stored.version;
    tagged(ok(&RepositoryEnvelope { gitops_repository: stored }), version)
}

pub(crate) async fn remove(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    unregister(&server, &who, &id).await?;
    done()
}

pub(crate) async fn forget_host_keys(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> Answer {
    ok(&RepositoryEnvelope { gitops_repository: forget(&server, &who, &id).await? })
}

pub(crate) async fn probe(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<RepositoryBody>,
) -> Answer {
    ok(&examine_new(&server, &who, body.gitops_repository).await?)
}

pub(crate) async fn test(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    ok(&examine_registered(&server, &who, &id).await?)
}
