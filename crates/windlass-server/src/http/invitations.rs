//! Requests about invitations.

use axum::extract::{Path, State};
use windlass_api::types::{InvitationList, ReceivedInvitationList};
use windlass_control::ask::invitation::{join, load_all, load_received, take_back, turn_down};
use windlass_control::caller::Identity;

use crate::http::request::{Answer, done, ok};
use crate::state::Server;

pub(crate) async fn list(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    ok(&InvitationList { invitations: load_all(&mut reading, &who).await? })
}

pub(crate) async fn revoke(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    take_back(&server, &who, &id).await?;
    done()
}

pub(crate) async fn received(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    ok(&ReceivedInvitationList { invitations: load_received(&mut reading, &who).await? })
}

pub(crate) async fn accept(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    ok(&join(&server, &who, &id).await?)
}

pub(crate) async fn decline(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    turn_down(&server, &who, &id).await?;
    done()
}
