//! Requests about events: pages of what happened, and a stream of what happens.

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
use windlass_control::ask::event::{EventFilterQuery, info, load_page, number};
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::event::Event;
use windlass_store::{EventFilter, EventOrder};

use crate::auth::identity::identify_person;
use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, QueryParams, header_text, json_ok};
use crate::limits::stream_slots::EventStreamSlot;
use crate::state::Server;

/// Events read at a time for a stream.
const AT_ONCE: usize = 100;

/// How late an event of another replica may come, and how often it is asked whether the caller still may listen.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

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
    let after = query.after.as_deref().map(number).transpose()?;
    let mut reading = server.store().read().await?;
    json_ok(&load_page(&mut reading, &who, query.choice, after, &page).await?)
}

/// A listener and how far they have heard.
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
        FollowRequest { after: after_of(&headers, query.after)?, kind: query.kind, tell: sse_event };
    follow(server, who, authorization, following).await
}

/// From which event on a listener wants to hear: a browser that comes back says so itself.
pub(crate) fn after_of(headers: &HeaderMap, asked: Option<i64>) -> Result<Option<i64>, Refusal> {
    let resumed = header_text(headers, "last-event-id").map(number).transpose()?;
    Ok(resumed.or(asked))
}

/// What a listener wants to hear.
pub(crate) struct FollowRequest {
    /// From after this event on; from now on if none is named.
    pub(crate) after: Option<i64>,
    /// Only of this kind.
    pub(crate) kind: Option<String>,
    /// How an event is told.
    pub(crate) tell: fn(Event) -> SseEvent,
}

/// A stream of what happens, for as long as the authorization holds.
pub(crate) async fn follow(
    server: Server,
    who: Identity,
    authorization: Option<String>,
    following: FollowRequest,
) -> HandlerResult {
    let place = server.stream_places().take(&who.user_id)?;
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
        Some((Ok::<_, Infallible>((following.tell)(event)), listener))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::default()).into_response())
}

fn sse_event(event: Event) -> SseEvent {
    let (seq, kind) = (event.seq, event.kind.clone());
    let data = serde_json::to_string(&info(event)).unwrap_or_default();
    SseEvent::default().id(seq.to_string()).event(kind).data(data)
}

impl EventListener {
    /// The next event; none when the listener may not hear more.
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
                reading.events(&self.who.account_id, &self.filter, order, AT_ONCE).await.ok()?.into();
            drop(reading);
            if self.ready.is_empty() && !self.wait().await {
                return None;
            }
        }
    }

    /// Rights end while a stream is open, so nothing is told without asking again.
    async fn may_listen(&self) -> bool {
        let (address, request) = (self.who.address.clone(), self.who.request_id.clone());
        let still = identify_person(&self.server, self.authorization.as_deref(), address, request).await;
        still.is_ok_and(|still| {
            still.account_id == self.who.account_id && still.permissions.contains(&Permission::GitopsRead)
        })
    }

    /// Waits until there may be more. False when the server stops.
    async fn wait(&mut self) -> bool {
        tokio::select! {
            _ = self.writes.changed() => true,
            _ = self.stopping.changed() => false,
            () = tokio::time::sleep(LOOK_AGAIN) => true,
        }
    }
}
