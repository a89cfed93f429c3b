//! Requests about resources.

use axum::extract::{Path, State};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use windlass_api::noun::Noun;
use windlass_api::types::ResourceList;
use windlass_control::ask::resource::list::{filter_of, find, load_page, resource_body};
use windlass_control::caller::Identity;
use windlass_control::control::Control;
use windlass_control::refusal::Refusal;
use windlass_core::resource::Kind;

use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, QueryParams, json_ok, with_etag};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct ResourcesQuery {
    #[serde(flatten)]
    page: PageQueryText,
    q: Option<String>,
    kind: Option<String>,
    repository: Option<String>,
}

async fn asked_page(
    server: &Control,
    who: &Identity,
    kind: Option<Kind>,
    query: ResourcesQuery,
) -> Result<ResourceList, Refusal> {
    let page = query.page.read()?;
    page.limit()?;
    let mut reading = server.store().read().await?;
    let filter = filter_of(&mut reading, who, kind, query.q, query.repository.as_deref()).await?;
    load_page(&mut reading, who, &filter, &page).await
}

pub(crate) async fn list_all(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<ResourcesQuery>,
) -> HandlerResult {
    let unknown = || Refusal::bad_request("kind must be a kind of resource", "for example kind=node");
    let kind = query.kind.as_deref().map(|kind| Kind::from_word(kind).ok_or_else(unknown)).transpose()?;
    json_ok(&asked_page(&server, &who, kind, query).await?)
}

pub(crate) async fn list(
    noun: Noun,
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<ResourcesQuery>,
) -> HandlerResult {
    let found = asked_page(&server, &who, Some(noun.kind()), query).await?;
    let mut body = Map::new();
    body.insert(noun.plural().to_owned(), json!(found.resources));
    body.insert("meta".to_owned(), json!(found.meta));
    json_ok(&Value::Object(body))
}

pub(crate) async fn show(
    noun: Noun,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let resource = find(&mut reading, &who, noun.kind(), &id).await?;
    let (body, generation) = resource_body(&mut reading, &who, noun, &resource.key).await?;
    with_etag(json_ok(&body), generation)
}
