//! The list of repositories, and starting a sync.

use axum::extract::{Path, State};
use windlass_api::types::SyncBody;
use windlass_control::ask::repository::find;
use windlass_control::ask::run::request;
use windlass_control::caller::Identity;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::repositories::RepositoriesPage;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::{BrowserRequest, local_path};
use crate::web::form::FormFields;
use crate::web::{frame, response};

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repositories = find::load_all(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Repositories).await?;
    drop(reading);
    response::page(&visit, &RepositoriesPage { frame, repositories })
}

pub(super) async fn sync(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let commit = Some(form.text("commit").to_owned()).filter(|commit| !commit.is_empty());
    let body = SyncBody { confirm_mass_destroy: form.is_ticked("confirm_mass_destroy"), commit };
    let run = request::request_sync(&server, &who, &id, &body).await?;
    let notice = Notice::new(Tone::Good, "Sync started");
    let run = format!("/app/runs/{run}");
    response::redirect_with_notice(&server, &visit, local_path(form.text("back")).unwrap_or(&run), &notice)
}
