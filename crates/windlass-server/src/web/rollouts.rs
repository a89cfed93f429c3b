//! Rollouts: the list, one that moves over the fleet, and the decisions about it.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_api::types::RolloutDecisionBody;
use windlass_control::ask::rollout::{RolloutQuery, decide, info, load, load_page, waves};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_core::id::RolloutId;
use windlass_core::rollout::{RolloutAction, RolloutStatus};
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::rollout::RolloutPage;
use windlass_web::pages::rollouts::RolloutsPage;

use crate::http::error::status_of;
use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::{address, word};
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::{frame, response};

const PAGE_URL: &str = "/app/rollouts";

#[derive(Deserialize)]
pub(super) struct RolloutsPageQuery {
    status: Option<String>,
    node: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<RolloutsPageQuery>,
) -> HandlerResult {
    let (status, node) = (word(&query.status), word(&query.node));
    let choice = RolloutQuery { status: Some(status.clone()), node: Some(node.clone()) };
    let page = PageQuery { limit: None, cursor: query.cursor };
    let mut reading = server.store().read().await?;
    let found = load_page(&mut reading, &who, &choice, &page).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Rollouts).await?;
    drop(reading);
    let next = found.meta.next_cursor;
    let address_of =
        |cursor: String| address(PAGE_URL, &[("status", &status), ("node", &node), ("cursor", &cursor)]);
    let next = next.map(address_of);
    response::page(&visit, &RolloutsPage { frame, rollouts: found.rollouts, status, node, next })
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RolloutId>,
) -> HandlerResult {
    let mut reading = server.store().read_snapshot().await?;
    let stored = load(&mut reading, &who, &id).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Rollouts).await?;
    drop(reading);
    let page = RolloutPage { frame, rollout: info(&stored), waves: waves(&stored.rollout) };
    response::page(&visit, &page)
}

pub(super) async fn pause(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RolloutId>,
    form: FormFields,
) -> HandlerResult {
    decide_and_return(&server, &who, &visit, &id, (RolloutAction::Pause, &form)).await
}

pub(super) async fn resume(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RolloutId>,
    form: FormFields,
) -> HandlerResult {
    decide_and_return(&server, &who, &visit, &id, (RolloutAction::Resume, &form)).await
}

pub(super) async fn abort(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RolloutId>,
    form: FormFields,
) -> HandlerResult {
    decide_and_return(&server, &who, &visit, &id, (RolloutAction::Abort, &form)).await
}

pub(super) async fn promote(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RolloutId>,
    form: FormFields,
) -> HandlerResult {
    decide_and_return(&server, &who, &visit, &id, (RolloutAction::Promote, &form)).await
}

/// Decides about the rollout as the page showed it, and returns to the page with the result.
async fn decide_and_return(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    id: &RolloutId,
    (action, form): (RolloutAction, &FormFields),
) -> HandlerResult {
    let status = form.non_empty_text("status").and_then(RolloutStatus::from_slug);
    let body = RolloutDecisionBody { reason: form.text("reason").to_owned(), status };
    let notice = match decide(server, who, id, action, &body).await {
        Ok(_) => Notice::new(Tone::Good, format!("Rollout {}", action.past())),
        Err(error) if status_of(&error).is_server_error() || status_of(&error) == 404 => {
            return Err(error.into());
        }
        Err(error) => {
            let body = error.into_body();
            let lines = if body.help.is_empty() { Vec::new() } else { vec![body.help] };
            Notice { tone: Tone::Bad, message: body.message, lines }
        }
    };
    response::redirect_with_notice(server, visit, &format!("{PAGE_URL}/{id}"), &notice)
}
