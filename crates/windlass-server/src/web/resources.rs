//! The list of accepted resources.

use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_api::types::ResourceInfo;
use windlass_control::account_state::names::repository_names;
use windlass_control::ask::resource::list::{filter_of, load_page};
use windlass_control::caller::Identity;
use windlass_control::page::PageQuery;
use windlass_control::refusal::Refusal;
use windlass_core::id::{ProposalId, RepositoryId};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::{Reading, ResourceFilter};
use windlass_web::frame::NavEntry;
use windlass_web::pages::resources::{ResourceRow, ResourceSearch, ResourcesPage};

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::address::address;
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

#[derive(Deserialize)]
pub(super) struct ResourcesPageQuery {
    q: Option<String>,
    repository: Option<String>,
    cursor: Option<String>,
}

impl ResourcesPageQuery {
    fn search(&self) -> ResourceSearch {
        let text = |field: &Option<String>| field.as_deref().unwrap_or_default().trim().to_owned();
        ResourceSearch { q: text(&self.q), repository: text(&self.repository) }
    }
}

pub(super) async fn list_all(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    QueryParams(query): QueryParams<ResourcesPageQuery>,
) -> HandlerResult {
    show(&server, &who, &visit, None, query).await
}

pub(super) async fn of_kind(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(kind): Path<String>,
    QueryParams(query): QueryParams<ResourcesPageQuery>,
) -> HandlerResult {
    let kind = Kind::from_word(&kind).ok_or_else(Refusal::not_found)?;
    show(&server, &who, &visit, Some(kind), query).await
}

async fn show(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    kind: Option<Kind>,
    query: ResourcesPageQuery,
) -> HandlerResult {
    let search = query.search();
    let filled = |text: &String| (!text.is_empty()).then(|| text.clone());
    let mut reading = server.store().read().await?;
    let repository = filled(&search.repository);
    let filter = filter_of(&mut reading, who, kind, filled(&search.q), repository.as_deref()).await?;
    let page = PageQuery { limit: None, cursor: query.cursor };
    // The list omits allocated addresses: computing them requires every member of a network.
    let found = load_page(&mut reading, who, &filter, &page).await?;
    let counts = counts(&mut reading, who, &filter).await?;
    let resources = listed(&mut reading, who, found.resources).await?;
    let repositories = repository_names(&mut reading, &who.account_id).await?.into_values().collect();
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Resources).await?;
    drop(reading);
    let next = found.meta.next_cursor.map(|cursor| here(kind, &search, &cursor));
    let page = ResourcesPage { frame, kind, search, counts, repositories, resources, next };
    response::page(visit, &page)
}

/// How many resources of each kind match, in the order of kinds.
async fn counts(
    reading: &mut Reading,
    who: &Identity,
    filter: &ResourceFilter,
) -> Result<Vec<(Kind, usize)>, Refusal> {
    let found: BTreeMap<Kind, usize> =
        reading.resources_tally(&who.account_id, filter).await?.into_iter().collect();
    Ok(found.into_iter().collect())
}

/// The address of this list, starting at a cursor.
fn here(kind: Option<Kind>, search: &ResourceSearch, cursor: &str) -> String {
    let path =
        kind.map_or_else(|| "/app/resources".to_owned(), |kind| format!("/app/resources/{}", kind.plural()));
    address(&path, &[("q", &search.q), ("repository", &search.repository), ("cursor", cursor)])
}

/// The rows of a page, with drift and open proposal, which are loaded only for these resources.
async fn listed(
    reading: &mut Reading,
    who: &Identity,
    resources: Vec<ResourceInfo>,
) -> Result<Vec<ResourceRow>, Refusal> {
    let key_of = |resource: &ResourceInfo| {
        Some(ResourceKey::new(Kind::from_word(&resource.kind)?, resource.name.as_str()))
    };
    let keys: Vec<ResourceKey> = resources.iter().filter_map(key_of).collect();
    let owned: Vec<(RepositoryId, &ResourceKey)> = resources
        .iter()
        .zip(&keys)
        .filter_map(|(resource, key)| Some((RepositoryId::new(&resource.owner.as_ref()?.repository_id), key)))
        .collect();
    let owned: Vec<(&RepositoryId, &ResourceKey)> = owned.iter().map(|(id, key)| (id, *key)).collect();
    let drifted: BTreeSet<ResourceKey> = reading.drifted_among(&owned).await?.into_iter().collect();
    let mut open: BTreeMap<ResourceKey, ProposalId> =
        reading.proposals_about(&who.account_id, &keys).await?.into_iter().collect();
    let rows = resources.into_iter().zip(keys).map(|(resource, key)| ResourceRow {
        is_drifted: drifted.contains(&key),
        proposal_id: open.remove(&key).map(|id| id.to_string()),
        resource,
    });
    Ok(rows.collect())
}
