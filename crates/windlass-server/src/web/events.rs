//! What happened.

use axum::extract::State;
use serde::Deserialize;
use windlass_web::frame::Place;
use windlass_web::pages::events::{EventSearch, Events, Named, Part};

use super::visit::Visit;
use super::{answer, frame};
use crate::auth::Identity;
use crate::http::events::{EventChoice, load_page};
use crate::http::page::PageQuery;
use crate::http::repositories;
use crate::http::request::{Answer, Query};
use crate::server::Server;

#[derive(Deserialize)]
pub(super) struct ListQuery {
    #[serde(flatten)]
    choice: EventChoice,
    cursor: Option<String>,
}

fn search_of(choice: &EventChoice) -> EventSearch {
    let text = |field: &Option<String>| field.as_deref().unwrap_or_default().trim().to_owned();
    EventSearch {
        q: text(&choice.q),
        kind: text(&choice.kind),
        severity: text(&choice.severity),
        repository: text(&choice.repository),
        resource: text(&choice.resource),
        run: text(&choice.run),
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

fn address(search: &EventSearch, cursor: &str) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in [
        ("q", search.q.as_str()),
        ("kind", &search.kind),
        ("severity", &search.severity),
        ("repository", &search.repository),
        ("resource", &search.resource),
        ("run", &search.run),
        ("cursor", cursor),
    ] {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    match query.finish() {
        words if words.is_empty() => "/app/events".to_owned(),
        words => format!("/app/events?{words}"),
    }
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
    let known = repositories::load_all(&mut reading, &who).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Events).await?;
    drop(reading);
    let page = Events {
        frame,
        repositories: known.into_iter().map(|known| Named { id: known.id, name: known.name }).collect(),
        events: found.fleet_events,
        part,
        newest: address(&search, ""),
        next: found.meta.next_cursor.map(|cursor| address(&search, &cursor)),
        search,
    };
    answer::page(&server, &visit, &page)
}
