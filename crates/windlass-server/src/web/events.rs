//! The page of events.

use axum::extract::State;
use serde::Deserialize;
use windlass_control::ask::event::{EventFilterQuery, load_page};
use windlass_control::ask::repository::find;
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_web::frame::NavEntry;
use windlass_web::pages::events::{EventSearch, EventsPage, EventsPart, RepositoryChoice};

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::{address, word};
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

#[derive(Deserialize)]
pub(super) struct EventsPageQuery {
    #[serde(flatten)]
    choice: EventFilterQuery,
    cursor: Option<String>,
}

fn search_of(choice: &EventFilterQuery) -> EventSearch {
    EventSearch {
        q: word(&choice.q),
        kind: word(&choice.kind),
        severity: word(&choice.severity),
        repository: word(&choice.repository),
        resource: word(&choice.resource),
        run: word(&choice.run),
    }
}

/// The filter for a search. An empty field filters nothing.
fn choice_of(search: &EventSearch) -> EventFilterQuery {
    let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
    EventFilterQuery {
        q: filled(&search.q),
        kind: filled(&search.kind),
        severity: filled(&search.severity),
        repository: filled(&search.repository),
        resource: filled(&search.resource),
        run: filled(&search.run),
    }
}

fn here(search: &EventSearch, cursor: &str) -> String {
    let words = [
        ("q", search.q.as_str()),
        ("kind", &search.kind),
        ("severity", &search.severity),
        ("repository", &search.repository),
        ("resource", &search.resource),
        ("run", &search.run),
        ("cursor", cursor),
    ];
    address("/app/events", &words)
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<EventsPageQuery>,
) -> HandlerResult {
    let search = search_of(&query.choice);
    let part = if query.cursor.is_some() { EventsPart::Older } else { EventsPart::Newest };
    let page = PageQuery { limit: None, cursor: query.cursor };
    let mut reading = server.store().read().await?;
    let found = load_page(&mut reading, &who, choice_of(&search), None, &page).await?;
    let known = find::load_all(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Events).await?;
    drop(reading);
    let page = EventsPage {
        frame,
        repositories: known
            .into_iter()
            .map(|known| RepositoryChoice { id: known.id, name: known.name })
            .collect(),
        events: found.fleet_events,
        part,
        newest: here(&search, ""),
        next: found.meta.next_cursor.map(|cursor| here(&search, &cursor)),
        search,
    };
    response::page(&visit, &page)
}
