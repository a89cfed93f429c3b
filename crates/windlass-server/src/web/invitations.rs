//! Accounts that ask whoever looks to join.

use axum::extract::{Path, State};
use windlass_control::ask::invitation;
use windlass_control::caller::Identity;
use windlass_web::frame::{Notice, Place, Tone};
use windlass_web::pages::settings::Invitations;

use crate::http::request::Answer;
use crate::state::Server;
use crate::web::visit::Visit;
use crate::web::{answer, frame};

const HERE: &str = "/app/settings/invitations";

pub(super) async fn show(State(server): State<Server>, who: Identity, visit: Visit) -> Answer {
    let mut reading = server.store().read().await?;
    let invitations = invitation::load_received(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Settings).await?;
    drop(reading);
    answer::page(&visit, &Invitations { frame, invitations })
}

pub(super) async fn accept(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
) -> Answer {
    let joined = invitation::join(&server, &who, &id).await?;
    let told = format!("You joined {}. Sign in to it to switch", joined.account);
    answer::go_saying(&server, &visit, HERE, &Notice::new(Tone::Good, told))
}

pub(super) async fn decline(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
) -> Answer {
    invitation::turn_down(&server, &who, &id).await?;
    let notice = Notice::new(Tone::Good, "Invitation declined");
    answer::go_saying(&server, &visit, HERE, &notice)
}
