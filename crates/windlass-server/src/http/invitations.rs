//! Requests about invitations.

use axum::extract::{Path, State};
use windlass_api::types::{InvitationList, ReceivedInvitationList};
use windlass_control::ask::invitation::{
    decline_invitation, join, load_all, load_received, revoke_invitation,
};
use windlass_control::caller::Identity;
use windlass_core::id::InvitationId;

use crate::http::request::{HandlerResult, json_ok, no_content};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&InvitationList { invitations: load_all(&mut reading, &who).await? })
}

pub(crate) async fn revoke(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    revoke_invitation(&server, &who, &id).await?;
    no_content()
}

pub(crate) async fn list_received(State(server): State<Server>, who: Identity) -> HandlerResult {
    let mut reading = server.store().read().await?;
    json_ok(&ReceivedInvitationList { invitations: load_received(&mut reading, &who).await? })
}

pub(crate) async fn accept(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<InvitationId>,
) -> HandlerResult {
    json_ok(&join(&server, &who, &id).await?)
}

pub(crate) async fn decline(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<InvitationId>,
) -> HandlerResult {
    decline_invitation(&server, &who, &id).await?;
    no_content()
}
