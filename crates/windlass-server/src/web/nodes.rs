//! The list of nodes with their status.

use axum::extract::State;
use serde::Deserialize;
use windlass_control::ask::enrolment::join::load_joins;
use windlass_control::ask::node::status::NodeFilterQuery;
use windlass_control::ask::node::summary::nodes_overview;
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_core::enrolment::JoinState;
use windlass_web::frame::NavEntry;
use windlass_web::pages::nodes::{NodeSearch, NodesPage};

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

#[derive(Deserialize)]
pub(super) struct NodesPageQuery {
    by: Option<String>,
    cursor: Option<String>,
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<NodesPageQuery>,
    QueryParams(filter): QueryParams<NodeFilterQuery>,
) -> HandlerResult {
    let text = |field: &Option<String>| field.as_deref().unwrap_or_default().trim().to_owned();
    let search = NodeSearch {
        q: text(&filter.q),
        state: text(&filter.state),
        template: text(&filter.template),
        region: text(&filter.region),
        label: text(&filter.label),
        by: text(&query.by),
    };
    let mut reading = server.store().read().await?;
    let page = PageQuery { limit: None, cursor: query.cursor };
    let found = nodes_overview(&mut reading, &who, &filter, Some(&search.by), &page).await?;
    let joins = load_joins(&mut reading, &who).await?.node_joins;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Nodes).await?;
    drop(reading);
    let page = NodesPage {
        frame,
        next: found.list.meta.next_cursor.map(|cursor| search.url(&cursor)),
        search,
        summary: found.summary,
        templates: found.templates.into_iter().collect(),
        regions: found.regions.into_iter().collect(),
        label_keys: found.label_keys.into_iter().collect(),
        waiting: joins.iter().filter(|join| join.state == JoinState::Pending).count(),
        nodes: found.list.nodes,
    };
    response::page(&visit, &page)
}
