//! Notifies open pages of events, so that they reload their content.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::sse::Event as SseEvent;
use serde::Deserialize;
use windlass_control::caller::Identity;
use windlass_core::event::Event;

use crate::http::events::{FollowRequest, after_of, follow};
use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;

#[derive(Deserialize)]
pub(super) struct AfterQuery {
    after: Option<i64>,
}

/// Sends only the kind of the event: the page then loads its new content.
fn kind_only(event: Event) -> SseEvent {
    SseEvent::default().id(event.seq.to_string()).data(event.kind)
}

pub(super) async fn stream(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    headers: HeaderMap,
    QueryParams(query): QueryParams<AfterQuery>,
) -> HandlerResult {
    let following = FollowRequest { after: after_of(&headers, query.after)?, kind: None, to_sse: kind_only };
    follow(server, who, visit.authorization, following).await
}
