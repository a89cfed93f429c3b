//! Where fleets come from.

use axum::extract::{Path, State};
use windlass_api::types::SyncBody;
use windlass_control::ask::repository::find;
use windlass_control::ask::run::request;
use windlass_control::caller::Identity;
use windlass_web::frame::{Notice, Place, Tone};
use windlass_web::pages::repositories::Repositories;

use crate::http::request::Answer;
use crate::state::Server;
use crate::web::form::Form;
use crate::web::visit::{Visit, local};
use crate::web::{answer, frame};

pub(super) async fn show(State(server): State<Server>, who: Identity, visit: Visit) -> Answer {
    let mut reading = server.store().read().await?;
    let repositories = find::load_all(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Repositories).await?;
    drop(reading);
    answer::page(&visit, &Repositories { frame, repositories })
}

pub(super) async fn sync(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Answer {
    let commit = Some(form.text("commit").to_owned()).filter(|commit| !commit.is_empty());
    let body = SyncBody { confirm_mass_destroy: form.is_ticked("confirm_mass_destroy"), commit };
    let run = request::request_sync(&server, &who, &id, &body).await?;
    let notice = Notice::new(Tone::Good, "Sync started");
    let run = format!("/app/runs/{run}");
    answer::go_saying(&server, &visit, local(form.text("back")).unwrap_or(&run), &notice)
}
