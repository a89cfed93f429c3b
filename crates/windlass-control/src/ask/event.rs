//! Events: filters and pages.

use serde::Deserialize;
use windlass_api::types::{EventInfo, EventList};
use windlass_core::event::{Event, Severity};
use windlass_core::id::RunId;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::{EventFilter, EventOrder, Reading};

use crate::caller::Identity;
use crate::page::{PageQuery, cut};
use crate::refusal::Refusal;

/// Which events a request selects.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct EventFilterQuery {
    /// Only of this kind.
    pub kind: Option<String>,
    /// Only of this run.
    pub run: Option<String>,
    /// Only of this repository.
    pub repository: Option<String>,
    /// Only of this resource, as `kind/name`.
    pub resource: Option<String>,
    /// Only of this severity.
    pub severity: Option<String>,
    /// Only those whose message contains this.
    pub q: Option<String>,
}

/// An event as responses show it.
pub fn info(event: Event) -> EventInfo {
    EventInfo {
        seq: event.seq,
        kind: event.kind,
        severity: event.severity,
        resource_kind: event.resource_kind,
        resource_name: event.resource_name,
        repository_id: event.repository_id.map(|id| id.to_string()),
        correlation_id: event.correlation_id.map(|id| id.to_string()),
        source: event.source,
        message: event.message,
        payload: event.payload,
        at: event.at.to_string(),
    }
}

/// Parses the number of an event.
pub fn parse_event_number(text: &str) -> Result<i64, Refusal> {
    text.parse()
        .map_err(|_| Refusal::bad_request("after must be the number of an event", "for example after=120"))
}

/// A page of events: the newest first, or the oldest first after a number.
pub async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    choice: EventFilterQuery,
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
    choice: EventFilterQuery,
) -> Result<EventFilter, Refusal> {
    let repository_id = match &choice.repository {
        Some(repository) => {
            Some(reading.repository(&who.account_id, repository).await?.ok_or_else(Refusal::not_found)?.id)
        }
        None => None,
    };
    Ok(EventFilter {
        kind: choice.kind,
        correlation_id: choice.run.map(RunId::new),
        repository_id,
        resource: choice.resource.as_deref().map(read_resource).transpose()?,
        severity: choice.severity.as_deref().map(read_severity).transpose()?,
        search: choice.q,
    })
}

fn read_resource(text: &str) -> Result<ResourceKey, Refusal> {
    let wrong =
        || Refusal::bad_request("resource must be kind/name", "for example resource=node/edge-tokyo-01");
    let (kind, name) = text.split_once('/').ok_or_else(wrong)?;
    Ok(ResourceKey::new(Kind::from_word(kind).ok_or_else(wrong)?, name))
}

fn read_severity(text: &str) -> Result<Severity, Refusal> {
    let wrong = || Refusal::bad_request("severity must be low, medium, high or critical", "");
    Severity::from_slug(text).ok_or_else(wrong)
}
