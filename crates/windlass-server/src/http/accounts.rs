//! Requests about accounts.

use axum::extract::State;
use windlass_api::types::{AccountBody, AccountEnvelope, AccountList, HaltBody};
use windlass_control::ask::account::{list_all, load_status, open_account, pull_switch, release_switch};
use windlass_control::caller::Identity;

use crate::http::request::{Answer, Body, created, ok};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, _who: Identity) -> Answer {
    ok(&AccountList { accounts: list_all(&server).await? })
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<AccountBody>,
) -> Answer {
    created(&AccountEnvelope { account: open_account(&server, &who, &body.name).await? })
}

pub(crate) async fn halt(State(server): State<Server>, who: Identity, Body(body): Body<HaltBody>) -> Answer {
    ok(&AccountEnvelope { account: pull_switch(&server, &who, &body.reason).await? })
}

pub(crate) async fn resume(State(server): State<Server>, who: Identity) -> Answer {
    ok(&AccountEnvelope { account: release_switch(&server, &who).await? })
}

pub(crate) async fn status(State(server): State<Server>, who: Identity) -> Answer {
    ok(&load_status(&server, &who).await?)
}
