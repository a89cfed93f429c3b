//! Requests about events: pages of past events, and a stream of new ones.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::IntoResponse as _;
use axum::response::sse::{Event as SseEvent, KeepAlive, Sse};
use futures_util::stream;
use serde::Deserialize;
use windlass_api::permission::Permission;
use windlass_control::ask::event::{EventFilterQuery, info, load_page, parse_event_number};
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::event::Event;
use windlass_store::{EventFilter, EventOrder};

use crate::auth::identity::identify_person;
use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, QueryParams, header_text, json_ok};
use crate::limits::stream_slots::EventStreamSlot;
use crate::state::Server;

/// How many events a stream reads at a time.
const BATCH_SIZE: usize = 100;

/// How often a stream checks for events of other replicas, and whether the caller still has the permission.
const POLL_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
pub(crate) struct EventsQuery {
    #[serde(flatten)]
    page: PageQueryText,
    after: Option<String>,
    #[serde(flatten)]
    choice: EventFilterQuery,
}

#[derive(Deserialize)]
pub(crate) struct FollowQuery {
    after: Option<i64>,
    kind: Option<String>,
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<EventsQuery>,
) -> HandlerResult {
    let page = query.page.read()?;
    let after = query.after.as_deref().map(parse_event_number).transpose()?;
    let mut reading = server.store().read().await?;
    json_ok(&load_page(&mut reading, &who, query.choice, after, &page).await?)
}

/// A listener, and the last event that they received.
struct EventListener {
    _place: EventStreamSlot,
    server: Server,
    who: Identity,
    authorization: Option<String>,
    filter: EventFilter,
    after: i64,
    ready: VecDeque<Event>,
    writes: tokio::sync::watch::Receiver<u64>,
    stopping: tokio::sync::watch::Receiver<bool>,
}

pub(crate) async fn stream(
    State(server): State<Server>,
    who: Identity,
    headers: HeaderMap,
    QueryParams(query): QueryParams<FollowQuery>,
) -> HandlerResult {
    let authorization = header_text(&headers, "authorization").map(str::to_owned);
    let following =
        FollowRequest { after: after_of(&headers, query.after)?, kind: query.kind, to_sse: sse_event };
    follow(server, who, authorization, following).await
}

/// The event after which the stream starts. A browser that reconnects sends it in `Last-Event-ID`.
pub(crate) fn after_of(headers: &HeaderMap, asked: Option<i64>) -> Result<Option<i64>, Refusal> {
    let resumed = header_text(headers, "last-event-id").map(parse_event_number).transpose()?;
    Ok(resumed.or(asked))
}

/// Which events a stream sends, and how.
pub(crate) struct FollowRequest {
    /// Events after this one; by default, only new events.
    pub(crate) after: Option<i64>,
    /// Only events of this kind.
    pub(crate) kind: Option<String>,
    /// How an event is sent.
    pub(crate) to_sse: fn(Event) -> SseEvent,
}

/// A stream of events, for as long as the authorization is valid.
pub(crate) async fn follow(
    server: Server,
    who: Identity,
    authorization: Option<String>,
    following: FollowRequest,
) -> HandlerResult {
    let place = server.stream_slots().take(&who.user_id)?;
    let mut reading = server.store().read().await?;
    let after = match following.after {
        Some(after) => after,
        None => reading.last_event(&who.account_id).await?,
    };
    drop(reading);
    let listener = EventListener {
        _place: place,
        authorization,
        filter: EventFilter { kind: following.kind, ..EventFilter::default() },
        after,
        ready: VecDeque::new(),
        writes: server.watch_writes(),
        stopping: server.watch_stopping(),
        server,
        who,
    };
    let events = stream::unfold(listener, move |mut listener| async move {
        let event = listener.next().await?;
        Some((Ok::<_, Infallible>((following.to_sse)(event)), listener))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

fn sse_event(event: Event) -> SseEvent {
    let (seq, kind) = (event.seq, event.kind.clone());
    let data = serde_json::to_string(&info(event)).unwrap_or_default();
    SseEvent::default().id(seq.to_string()).event(kind).data(data)
}

impl EventListener {
    /// The next event; `None` when the stream ends.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                self.after = event.seq;
                return Some(event);
            }
            self.writes.borrow_and_update();
            if self.server.is_stopping() || !self.may_listen().await {
                return None;
            }
            let mut reading = self.server.store().read().await.ok()?;
            let order = EventOrder::OldestAfter(self.after);
            self.ready =
                reading.events(&self.who.account_id, &self.filter, order, BATCH_SIZE).await.ok()?.into();
            drop(reading);
            if self.ready.is_empty() && !self.wait().await {
                return None;
            }
        }
    }

    /// Permissions can change while a stream is open, so this checks them before each read.
    async fn may_listen(&self) -> bool {
        let (address, request) = (self.who.address.clone(), self.who.request_id.clone());
        let still = identify_person(&self.server, self.authorization.as_deref(), address, request).await;
        still.is_ok_and(|still| {
            still.account_id == self.who.account_id && still.permissions.contains(&Permission::GitopsRead)
        })
    }

    /// Waits until there may be more events. Returns false when the server stops.
    async fn wait(&mut self) -> bool {
        tokio::select! {
            _ = self.writes.changed() => true,
            _ = self.stopping.changed() => false,
            () = tokio::time::sleep(POLL_INTERVAL) => true,
        }
    }
}
