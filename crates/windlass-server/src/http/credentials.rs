//! Requests about credentials.

use axum::extract::State;
use windlass_api::types::CredentialBindingBody;
use windlass_control::ask::credential::{bind_by_admin, list_bindings, list_paths, unbind_by_admin};
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, QueryParams, json_ok};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> HandlerResult {
    json_ok(&list_paths(&server, &who).await?)
}

pub(crate) async fn bindings(State(server): State<Server>, who: Identity) -> HandlerResult {
    json_ok(&list_bindings(&server, &who).await?)
}

pub(crate) async fn bind(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<CredentialBindingBody>,
) -> HandlerResult {
    json_ok(&bind_by_admin(&server, &who, body).await?)
}

pub(crate) async fn unbind(
    State(server): State<Server>,
    who: Identity,
    QueryParams(body): QueryParams<CredentialBindingBody>,
) -> HandlerResult {
    json_ok(&unbind_by_admin(&server, &who, body).await?)
}
