//! The page of one node as its agent sees it: the ways to resolve its drift, and the enrolment of its agent.

use axum::extract::{Path, State};
use windlass_api::permission::Permission;
use windlass_api::types::{EnrollmentBody, NodeAcceptBody, NodeItemBody};
use windlass_control::ask::enrolment::join::load_joins;
use windlass_control::ask::enrolment::revoke::revoke_agent as revoke_agent_of;
use windlass_control::ask::enrolment::token::{create_for_target, load_tokens};
use windlass_control::ask::node::adopt::adopt_item;
use windlass_control::ask::node::detail::detail;
use windlass_control::ask::node::drift::node_drift;
use windlass_control::ask::node::log::log;
use windlass_control::ask::node::observe::request_observe;
use windlass_control::ask::node::render::render;
use windlass_control::ask::node::resolve::{accept_item, revert_node, unaccept_item};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_core::resource::Kind;
use windlass_web::frame::NavEntry;
use windlass_web::pages::enrolment::EnrolmentCommand;
use windlass_web::pages::node::{NodeFormOutcome, NodePage, node_url};
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
    outcome: Option<NodeFormOutcome>,
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
    let mut tokens = load_tokens(&mut reading, who).await?.enrollment_tokens;
    let target = format!("{}/{}", Kind::Node.slug(), node.node.name);
    tokens.retain(|token| token.target.as_ref() == Some(&target));
    let mut joins = load_joins(&mut reading, who).await?.node_joins;
    joins.retain(|join| join.node == node.node.name);
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Nodes).await?;
    drop(reading);
    let rendered = render(server, who, &node.node.name).await?;
    let here = node_url(&node.node.name);
    let page = NodePage { frame, node, drift, events, rendered, tokens, joins, outcome, here };
    response::page(visit, &page)
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
        Ok(adopted) => NodeFormOutcome::Patch(adopted),
        Err(error) if has_own_page(&error) => return Err(error.into()),
        Err(error) => NodeFormOutcome::Failed(error.into_body()),
    };
    page(&server, &who, &visit, &name, Some(outcome)).await
}

/// The secret is stored nowhere, so only this response shows the command.
pub(super) async fn enroll(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
) -> HandlerResult {
    let body = EnrollmentBody::default();
    let outcome = match create_for_target(&server, &who, Kind::Node, &name, &body).await {
        Ok(created) => NodeFormOutcome::Enrolment(EnrolmentCommand::of(created)),
        Err(error) if has_own_page(&error) => return Err(error.into()),
        Err(error) => NodeFormOutcome::Failed(error.into_body()),
    };
    page(&server, &who, &visit, &name, Some(outcome)).await
}

pub(super) async fn revoke_agent(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(name): Path<String>,
    form: FormFields,
) -> HandlerResult {
    let done = revoke_agent_of(&server, &who, Kind::Node, &name).await;
    let done = done.map(|_| format!("Revoked the agent of node {name}"));
    redirect_with_result(&server, &visit, &form, &node_url(&name), done)
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
