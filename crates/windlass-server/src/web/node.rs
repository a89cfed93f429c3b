//! The page of one node as its agent sees it, and the ways to resolve its drift.

use axum::extract::{Path, State};
use windlass_api::permission::Permission;
use windlass_api::types::{NodeAcceptBody, NodeItemBody};
use windlass_control::ask::node::adopt::adopt_item;
use windlass_control::ask::node::detail::detail;
use windlass_control::ask::node::drift::node_drift;
use windlass_control::ask::node::log::log;
use windlass_control::ask::node::observe::request_observe;
use windlass_control::ask::node::resolve::{accept_item, revert_node, unaccept_item};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_web::frame::NavEntry;
use windlass_web::pages::node::{NodeAdoptOutcome, NodePage, node_url};
use windlass_web::sentence;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::drift::{day_end, has_own_page, redirect_with_result};
use crate::web::form::FormFields;
use crate::web::{frame, response};

/// How many events of the agent the page shows.
const EVENTS: usize = 20;

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
) -> HandlerResult {
    page(&server, &who, &visit, &name, None).await
}

async fn page(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    name: &str,
    adopted: Option<NodeAdoptOutcome>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let node = detail(&mut reading, who, name).await?;
    let drift = node_drift(&mut reading, who, name).await?;
    let events = match who.permissions.contains(&Permission::GitopsRead) {
        true => {
            let last = PageQuery { limit: Some(EVENTS), cursor: None };
            log(&mut reading, who, name, None, &last).await?.fleet_events
        }
        false => Vec::new(),
    };
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Nodes).await?;
    drop(reading);
    let here = node_url(&node.node.name);
    response::page(visit, &NodePage { frame, node, drift, events, adopted, here })
}

pub(super) async fn observe(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let done = request_observe(&server, &who, &name).await.map(|asked| sentence(&asked.message));
    redirect_with_result(&server, &visit, &form, &node_url(&name), done)
}

pub(super) async fn revert(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let done = revert_node(&server, &who, &name).await.map(|reverted| sentence(&reverted.message));
    redirect_with_result(&server, &visit, &form, &node_url(&name), done)
}

fn item(form: &FormFields) -> NodeItemBody {
    NodeItemBody { kind: form.text("kind").to_owned(), name: form.text("name").to_owned() }
}

pub(super) async fn adopt(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let outcome = match adopt_item(&server, &who, &name, &item(&form)).await {
        Ok(adopted) => NodeAdoptOutcome::Patch(adopted),
        Err(error) if has_own_page(&error) => return Err(error.into()),
        Err(error) => NodeAdoptOutcome::Failed(error.into_body()),
    };
    page(&server, &who, &visit, &name, Some(outcome)).await
}

pub(super) async fn accept(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let NodeItemBody { kind, name: item } = item(&form);
    let until = form.non_empty_text("until").map(day_end);
    let body = NodeAcceptBody { kind, name: item, until, reason: form.text("reason").to_owned() };
    let done = accept_item(&server, &who, &name, &body).await;
    let done = done.map(|_| format!("Accepted the drift of {} {}", body.kind, body.name));
    redirect_with_result(&server, &visit, &form, &node_url(&name), done)
}

pub(super) async fn unaccept(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let done = unaccept_item(&server, &who, &name, &item(&form)).await;
    let done = done.map(|_| "Drift no longer accepted".to_owned());
    redirect_with_result(&server, &visit, &form, &node_url(&name), done)
}
