//! Requests about the people of an account.

use axum::extract::{Path, State};
use windlass_api::types::{UserBody, UserList, UserPatch};
use windlass_control::ask::user::{add, change_user, load_all, remove_user};
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, json_created, json_ok, no_content};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&UserList { users: load_all(&mut reading, &who).await? })
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<UserBody>,
) -> HandlerResult {
    json_created(&add(&server, &who, &body).await?)
}

pub(crate) async fn change(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    JsonBody(body): JsonBody<UserPatch>,
) -> HandlerResult {
    json_ok(&change_user(&server, &who, &id, &body).await?)
}

pub(crate) async fn remove(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    remove_user(&server, &who, &id).await?;
    no_content()
}
