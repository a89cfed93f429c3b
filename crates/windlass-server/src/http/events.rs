//! Events: pages of what happened, and a stream of what happens.

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
use windlass_api::types::{EventInfo, EventList};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::{Event, EventFilter, EventOrder, Reading, Severity};

use super::audit::PageQueryText;
use super::page::{PageQuery, cut};
use super::request::{Answer, Query, header_text, ok};
use super::stream_places::StreamPlace;
use crate::auth::{Identity, identify};
use crate::refusal::Refusal;
use crate::server::Server;

/// Events read at a time for a stream.
const AT_ONCE: usize = 100;

/// How late an event of another replica may come, and how often it is asked whether the caller still may listen.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    page: PageQueryText,
    after: Option<String>,
    #[serde(flatten)]
    choice: EventChoice,
}

/// Which events are asked for.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct EventChoice {
    pub(crate) kind: Option<String>,
    pub(crate) run: Option<String>,
    pub(crate) repository: Option<String>,
    pub(crate) resource: Option<String>,
    pub(crate) severity: Option<String>,
    pub(crate) q: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct FollowQuery {
    after: Option<i64>,
    kind: Option<String>,
}

pub(crate) fn info(event: Event) -> EventInfo {
    EventInfo {
        seq: event.seq,
        kind: event.kind,
        severity: event.severity.slug().to_owned(),
        resource_kind: event.resource_kind,
        resource_name: event.resource_name,
        repository_id: event.repository_id,
        correlation_id: event.correlation_id,
        source: event.source,
        message: event.message,
        payload: event.payload,
        at: event.at.to_string(),
    }
}

fn number(text: &str) -> Result<i64, Refusal> {
    text.parse().map_err(|_| Refusal::bad_request("after is the number of an event", "for example after=120"))
}

pub(super) async fn list(
    State(server): State<Server>,
    who: Identity,
    Query(query): Query<ListQuery>,
) -> Answer {
    let page = query.page.read()?;
    let after = query.after.as_deref().map(number).transpose()?;
    let mut reading = server.store().read().await?;
    ok(&load_page(&mut reading, &who, query.choice, after, &page).await?)
}

/// A page of events: the newest first, or the oldest first after a number.
pub(crate) async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    choice: EventChoice,
    after: Option<i64>,
    page: &PageQuery,
) -> Result<EventList, Refusal> {
    let limit = page.limit()?;
    let cursor = page.after_as(|text| text.parse().ok())?;
    let order = match after {
        Some(after) => EventOrder::OldestAfter(cursor.unwrap_or(after)),
        None => EventOrder::NewestBefore(cursor.unwrap_or(i64::MAX)),
    };
    let filter = filter_of(reading, who, choice).await?;
    let mut events = reading.events(&who.account_id, &filter, order, limit + 1).await?;
    let meta = cut(&mut events, limit, |event| event.seq.to_string());
    Ok(EventList { fleet_events: events.into_iter().map(info).collect(), meta })
}

async fn filter_of(
    reading: &mut Reading,
    who: &Identity,
    choice: EventChoice,
) -> Result<EventFilter, Refusal> {
    let repository_id = match &choice.repository {
        Some(repository) => {
            Some(reading.repository(&who.account_id, repository).await?.ok_or_else(Refusal::not_found)?.id)
        }
        None => None,
    };
    Ok(EventFilter {
        kind: choice.kind,
        correlation_id: choice.run,
        repository_id,
        resource: choice.resource.as_deref().map(read_resource).transpose()?,
        severity: choice.severity.as_deref().map(read_severity).transpose()?,
        search: choice.q,
    })
}

fn read_resource(text: &str) -> Result<ResourceKey, Refusal> {
    let wrong = || Refusal::bad_request("resource is kind/name", "for example resource=node/edge-tokyo-01");
    let (kind, name) = text.split_once('/').ok_or_else(wrong)?;
    Ok(ResourceKey::new(Kind::from_word(kind).ok_or_else(wrong)?, name))
}

fn read_severity(text: &str) -> Result<Severity, Refusal> {
    let wrong = || Refusal::bad_request("severity is low, medium, high or critical", "");
    Severity::from_slug(text).ok_or_else(wrong)
}

/// A listener and how far they have heard.
struct Listener {
    _place: StreamPlace,
    server: Server,
    who: Identity,
    authorization: Option<String>,
    filter: EventFilter,
    after: i64,
    ready: VecDeque<Event>,
    writes: tokio::sync::watch::Receiver<u64>,
    stopping: tokio::sync::watch::Receiver<bool>,
}

pub(super) async fn stream(
    State(server): State<Server>,
    who: Identity,
    headers: HeaderMap,
    Query(query): Query<FollowQuery>,
) -> Answer {
    let authorization = header_text(&headers, "authorization").map(str::to_owned);
    let following = Following { after: after_of(&headers, query.after)?, kind: query.kind, tell: told };
    follow(server, who, authorization, following).await
}

/// From which event on a listener wants to hear: a browser that comes back says so itself.
pub(crate) fn after_of(headers: &HeaderMap, asked: Option<i64>) -> Result<Option<i64>, Refusal> {
    let resumed = header_text(headers, "last-event-id").map(number).transpose()?;
    Ok(resumed.or(asked))
}

/// What a listener wants to hear.
pub(crate) struct Following {
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
    following: Following,
) -> Answer {
    let place = server.stream_places().take(&who.user_id)?;
    let mut reading = server.store().read().await?;
    let after = match following.after {
        Some(after) => after,
        None => reading.last_event(&who.account_id).await?,
    };
    drop(reading);
    let listener = Listener {
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

fn told(event: Event) -> SseEvent {
    let (seq, kind) = (event.seq, event.kind.clone());
    let data = serde_json::to_string(&info(event)).unwrap_or_default();
    SseEvent::default().id(seq.to_string()).event(kind).data(data)
}

impl Listener {
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
        let still = identify(&self.server, self.authorization.as_deref(), address, request).await;
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
