//! What the agent of a node reported, event by event.

use windlass_api::types::EventList;
use windlass_core::resource::Kind;
use windlass_store::Reading;

use crate::ask::event::{EventFilterQuery, load_page, parse_event_number};
use crate::ask::resource::list::find;
use crate::caller::Identity;
use crate::page::PageQuery;
use crate::refusal::Refusal;

/// A page of the events of a node's agent: the newest first, or the oldest first after a number.
pub async fn log(
    reading: &mut Reading,
    who: &Identity,
    id_or_name: &str,
    after: Option<&str>,
    page: &PageQuery,
) -> Result<EventList, Refusal> {
    let node = find(reading, who, Kind::Node, id_or_name).await?;
    let after = after.map(parse_event_number).transpose()?;
    let choice = EventFilterQuery {
        kind: Some("agent.".to_owned()),
        resource: Some(format!("node/{}", node.key.name)),
        ..EventFilterQuery::default()
    };
    load_page(reading, who, choice, after, page).await
}
