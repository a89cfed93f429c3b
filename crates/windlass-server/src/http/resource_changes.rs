//! Requests about direct changes of resources.

use axum::extract::{FromRequestParts, Path, State};
use axum::http::request::Parts;
use serde::Deserialize;
use serde_json::Value;
use windlass_api::noun::Noun;
use windlass_control::ask::resource::change::{
    DirectAnswer, Extent, Terms, change_resource, create_resource, remove_resource,
};
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;

use crate::http::error::HttpError;
use crate::http::request::{Answer, Body, Query, created, done, json_accepted, ok, tagged};
use crate::state::Server;

impl FromRequestParts<Server> for Terms {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, server: &Server) -> Result<Terms, HttpError> {
        #[derive(Deserialize)]
        struct DirectQuery {
            reason: Option<String>,
        }
        let Query(query) = Query::<DirectQuery>::from_request_parts(parts, server).await?;
        Ok(Terms { if_match: IfMatch::from_request_parts(parts, server).await?, reason: query.reason })
    }
}

pub(crate) async fn create(
    noun: Noun,
    State(server): State<Server>,
    who: Identity,
    terms: Terms,
    Body(body): Body<Value>,
) -> Answer {
    match create_resource(&server, &who, noun, &body, terms.reason.as_deref()).await? {
        DirectAnswer::Made(body, generation) => tagged(created(&body), generation),
        DirectAnswer::Waits(waiting) => json_accepted(&waiting),
    }
}

pub(crate) async fn change(
    noun: Noun,
    extent: Extent,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    terms: Terms,
    Body(body): Body<Value>,
) -> Answer {
    match change_resource(&server, &who, (noun, &id, extent), &body, &terms).await? {
        DirectAnswer::Made(body, generation) => tagged(ok(&body), generation),
        DirectAnswer::Waits(waiting) => json_accepted(&waiting),
    }
}

pub(crate) async fn remove(
    noun: Noun,
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    terms: Terms,
) -> Answer {
    let waiting = remove_resource(&server, &who, (noun, &id), &terms).await?;
    waiting.map_or_else(done, |waiting| json_accepted(&waiting))
}
