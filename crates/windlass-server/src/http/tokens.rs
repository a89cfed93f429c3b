//! Requests about API tokens.

use axum::extract::{Path, State};
use windlass_api::types::{TokenBody, TokenList};
use windlass_control::ask::token::{load_all, make, take_back};
use windlass_control::caller::Identity;

use crate::http::request::{Answer, Body, created, done, ok};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    ok(&TokenList { tokens: load_all(&mut reading, &who).await? })
}

pub(crate) async fn create(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<TokenBody>,
) -> Answer {
    created(&make(&server, &who, body).await?)
}

pub(crate) async fn revoke(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    take_back(&server, &who, &id).await?;
    done()
}
