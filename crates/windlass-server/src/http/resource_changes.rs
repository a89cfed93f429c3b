//! Requests about direct changes of resources.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use serde::Deserialize;
use serde_json::Value;
use windlass_api::noun::Noun;
use windlass_control::ask::resource::change::{
    DirectAnswer, DirectChangeOptions, UpdateExtent, change_resource, create_resource, remove_resource,
};
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;

use crate::http::error::HttpError;
use crate::http::request::{
    HandlerResult, JsonBody, QueryParams, json_accepted, json_created, json_ok, no_content, with_etag,
};
use crate::state::Server;

impl FromRequestParts<Server> for DirectChangeOptions {
    type Rejection = HttpError;

    async fn from_request_parts(
        parts: &mut Parts,
        server: &Server,
    ) -> Result<DirectChangeOptions, HttpError> {
        #[derive(Deserialize)]
        struct DirectQuery {
            reason: Option<String>,
        }
        let QueryParams(query) = QueryParams::<DirectQuery>::from_request_parts(parts, server).await?;
        Ok(DirectChangeOptions {
            if_match: IfMatch::from_request_parts(parts, server).await?,
            reason: query.reason,
        })
    }
}

pub(crate) async fn create(
    noun: Noun,
    State(server): State<Server>,
    who: Identity,
    terms: DirectChangeOptions,
    JsonBody(body): JsonBody<Value>,
) -> HandlerResult {
    match create_resource(&server, &who, noun, &body, terms.reason.as_deref()).await? {
        DirectAnswer::Made(body, generation) => with_etag(json_created(&body), generation),
        DirectAnswer::Waits(waiting) => json_accepted(&waiting),
    }
}

pub(crate) async fn change(
    noun: Noun,
    extent: UpdateExtent,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    terms: DirectChangeOptions,
    JsonBody(body): JsonBody<Value>,
) -> HandlerResult {
    match change_resource(&server, &who, (noun, &id, extent), &body, &terms).await? {
        DirectAnswer::Made(body, generation) => with_etag(json_ok(&body), generation),
        DirectAnswer::Waits(waiting) => json_accepted(&waiting),
    }
}

pub(crate) async fn remove(
    noun: Noun,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    terms: DirectChangeOptions,
) -> HandlerResult {
    let waiting = remove_resource(&server, &who, (noun, &id), &terms).await?;
    waiting.map_or_else(no_content, |waiting| json_accepted(&waiting))
}
