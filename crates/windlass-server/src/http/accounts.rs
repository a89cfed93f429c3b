//! Requests about accounts.

use axum::extract::State;
use windlass_api::types::{AccountBody, AccountEnvelope, AccountList, HaltBody};
use windlass_control::ask::account::{halt_account, list_all, load_status, open_account, resume_account};
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, json_created, json_ok};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, _who: Identity) -> HandlerResult {
    json_ok(&AccountList { accounts: list_all(&server).await? })
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<AccountBody>,
) -> HandlerResult {
    json_created(&AccountEnvelope { account: open_account(&server, &who, &body.name).await? })
}

pub(crate) async fn halt(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<HaltBody>,
) -> HandlerResult {
    json_ok(&AccountEnvelope { account: halt_account(&server, &who, &body.reason).await? })
}

pub(crate) async fn resume(State(server): State<Server>, who: Identity) -> HandlerResult {
    json_ok(&AccountEnvelope { account: resume_account(&server, &who).await? })
}

pub(crate) async fn status(State(server): State<Server>, who: Identity) -> HandlerResult {
    json_ok(&load_status(&server, &who).await?)
}
