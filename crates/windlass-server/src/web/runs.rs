//! Sync runs.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_control::ask::repository::find::find;
use windlass_control::ask::run::show;
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_web::frame::Place;
use windlass_web::pages::run::{Run, Show};
use windlass_web::pages::runs::Runs;

use crate::http::request::{Answer, Query};
use crate::state::Server;
use crate::web::address::address;
use crate::web::visit::Visit;
use crate::web::{answer, frame};

#[derive(Deserialize)]
pub(super) struct ListQuery {
    repository: Option<String>,
    cursor: Option<String>,
}

/// Proposals of a run on a page.
const ON_A_PAGE: usize = 100;

#[derive(Deserialize)]
pub(super) struct ShowQuery {
    show: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Query(query): Query<ListQuery>,
) -> Answer {
    let mut reading = server.store().read().await?;
    let repository = match query.repository.as_deref().filter(|word| !word.is_empty()) {
        Some(word) => Some(find(&mut reading, &who, word).await?),
        None => None,
    };
    let page = PageQuery { limit: None, cursor: query.cursor };
    let id = repository.as_ref().map(|repository| repository.id.as_str());
    let found = show::load_page(&mut reading, &who, id, &page).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Runs).await?;
    drop(reading);
    let next = found
        .meta
        .next_cursor
        .map(|cursor| address("/app/runs", &[("repository", id.unwrap_or_default()), ("cursor", &cursor)]));
    let repository = repository.as_ref().map(|repository| repository.name.clone());
    answer::page(&visit, &Runs { frame, runs: found.sync_runs, repository, next })
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    Query(query): Query<ShowQuery>,
) -> Answer {
    let show = Show::of(query.show.as_deref().unwrap_or_default());
    let page = PageQuery { limit: Some(ON_A_PAGE), cursor: query.cursor };
    let mut reading = server.store().read_snapshot().await?;
    let part = show::load_part(&mut reading, &who, &id, show.statuses(), &page).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Runs).await?;
    drop(reading);
    let shown = if show == Show::All { "" } else { show.slug() };
    let next = part.meta.next_cursor.map(|cursor| {
        address(&format!("/app/runs/{}", part.run.id), &[("show", shown), ("cursor", &cursor)])
    });
    let decided_at = part.decided_at.map(|at| at.to_string());
    let page = Run { frame, run: part.run, tally: part.tally, decided_at, show, next };
    answer::page(&visit, &page)
}
