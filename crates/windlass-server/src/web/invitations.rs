//! The invitations that a person received.

use axum::extract::{Path, State};
use windlass_control::ask::invitation;
use windlass_control::caller::Identity;
use windlass_core::id::InvitationId;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::settings::InvitationsPage;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

const PAGE_URL: &str = "/app/settings/invitations";

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let invitations = invitation::load_received(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Settings).await?;
    drop(reading);
    response::page(&visit, &InvitationsPage { frame, invitations })
}

pub(super) async fn accept(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<InvitationId>,
) -> HandlerResult {
    let joined = invitation::join(&server, &who, &id).await?;
    let message = format!("You joined {}. Sign in to it to switch", joined.account);
    response::redirect_with_notice(&server, &visit, PAGE_URL, &Notice::new(Tone::Good, message))
}

pub(super) async fn decline(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<InvitationId>,
) -> HandlerResult {
    invitation::decline_invitation(&server, &who, &id).await?;
    let notice = Notice::new(Tone::Good, "Invitation declined");
    response::redirect_with_notice(&server, &visit, PAGE_URL, &notice)
}
