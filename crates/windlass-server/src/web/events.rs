//! What happened.

use axum::extract::State;
use serde::Deserialize;
use windlass_control::ask::event::{EventChoice, load_page};
use windlass_control::ask::repository::find;
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_web::frame::Place;
use windlass_web::pages::events::{EventSearch, Events, Named, Part};

use crate::http::request::{Answer, Query};
use crate::state::Server;
use crate::web::address::{address, word};
use crate::web::visit::Visit;
use crate::web::{answer, frame};

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    choice: EventChoice,
    cursor: Option<String>,
}

fn search_of(choice: &EventChoice) -> EventSearch {
    EventSearch {
        q: word(&choice.q),
        kind: word(&choice.kind),
        severity: word(&choice.severity),
        repository: word(&choice.repository),
        resource: word(&choice.resource),
        run: word(&choice.run),
    }
}

/// A field that was left empty asks for nothing.
fn choice_of(search: &EventSearch) -> EventChoice {
    let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
    EventChoice {
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
    visit: Visit,
    Query(query): Query<ListQuery>,
) -> Answer {
    let search = search_of(&query.choice);
    let part = if query.cursor.is_some() { Part::Older } else { Part::Newest };
    let page = PageQuery { limit: None, cursor: query.cursor };
    let mut reading = server.store().read().await?;
    let found = load_page(&mut reading, &who, choice_of(&search), None, &page).await?;
    let known = find::load_all(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Events).await?;
    drop(reading);
    let page = Events {
        frame,
        repositories: known.into_iter().map(|known| Named { id: known.id, name: known.name }).collect(),
        events: found.fleet_events,
        part,
        newest: here(&search, ""),
        next: found.meta.next_cursor.map(|cursor| here(&search, &cursor)),
        search,
    };
    answer::page(&visit, &page)
}
