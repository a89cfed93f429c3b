//! Requests about the people of an account.

use axum::extract::{Path, State};
use windlass_api::types::{UserBody, UserList, UserPatch};
use windlass_control::ask::user::{add, alter, expel, load_all};
use windlass_control::caller::Identity;

use crate::http::request::{Answer, Body, created, done, ok};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    ok(&UserList { users: load_all(&mut reading, &who).await? })
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<UserBody>,
) -> Answer {
    created(&add(&server, &who, &body).await?)
}

pub(crate) async fn change(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    Body(body): Body<UserPatch>,
) -> Answer {
    ok(&alter(&server, &who, &id, &body).await?)
}

pub(crate) async fn remove(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    expel(&server, &who, &id).await?;
    done()
}
