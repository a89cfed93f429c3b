//! Sync runs.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_control::ask::repository::find::find;
use windlass_control::ask::run::show;
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_core::id::{RepositoryId, RunId};
use windlass_web::frame::NavEntry;
use windlass_web::pages::run::{ProposalTab, RunPage};
use windlass_web::pages::runs::RunsPage;

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::address;
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

#[derive(Deserialize)]
pub(super) struct RunsPageQuery {
    repository: Option<String>,
    cursor: Option<String>,
}

/// How many proposals of a run a page shows.
const PAGE_SIZE: usize = 100;

#[derive(Deserialize)]
pub(super) struct ShowQuery {
    show: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<RunsPageQuery>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let repository = match query.repository.as_deref().filter(|word| !word.is_empty()) {
        Some(word) => Some(find(&mut reading, &who, word).await?),
        None => None,
    };
    let page = PageQuery { limit: None, cursor: query.cursor };
    let id = repository.as_ref().map(|repository| &repository.id);
    let found = show::load_page(&mut reading, &who, id, &page).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Runs).await?;
    drop(reading);
    let next = found.meta.next_cursor.map(|cursor| {
        address("/app/runs", &[("repository", id.map_or("", RepositoryId::as_str)), ("cursor", &cursor)])
    });
    let repository = repository.as_ref().map(|repository| repository.name.clone());
    response::page(&visit, &RunsPage { frame, runs: found.sync_runs, repository, next })
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RunId>,
    QueryParams(query): QueryParams<ShowQuery>,
) -> HandlerResult {
    let show = ProposalTab::of(query.show.as_deref().unwrap_or_default());
    let page = PageQuery { limit: Some(PAGE_SIZE), cursor: query.cursor };
    let mut reading = server.store().read_snapshot().await?;
    let part = show::load_part(&mut reading, &who, &id, show.statuses(), &page).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Runs).await?;
    drop(reading);
    let shown = if show == ProposalTab::All { "" } else { show.slug() };
    let next = part.meta.next_cursor.map(|cursor| {
        address(&format!("/app/runs/{}", part.run.id), &[("show", shown), ("cursor", &cursor)])
    });
    let decided_at = part.decided_at.map(|at| at.to_string());
    let page = RunPage { frame, run: part.run, tally: part.tally, decided_at, show, next };
    response::page(&visit, &page)
}
