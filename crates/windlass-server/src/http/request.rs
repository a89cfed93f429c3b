//! Extractors and responses of handlers.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use windlass_control::caller::Identity;
use windlass_control::page::IfMatch;
use windlass_control::refusal::Refusal;
use windlass_core::secret::without_secrets;

use crate::auth::identity;
use crate::http::body::read_whole;
use crate::http::error::HttpError;
use crate::state::Server;

/// What a handler returns.
pub(crate) type HandlerResult = Result<Response, HttpError>;

/// The caller, as the middleware identified them.
impl FromRequestParts<Server> for Identity {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<Identity, HttpError> {
        parts.extensions.get::<Identity>().cloned().ok_or_else(|| identity::AuthError::Missing.into())
    }
}

/// A JSON body. An empty body counts as an empty object.
pub(crate) struct JsonBody<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<Server> for JsonBody<T> {
    type Rejection = HttpError;

    async fn from_request(request: Request, _: &Server) -> Result<JsonBody<T>, HttpError> {
        let bytes = read_whole(request.into_body()).await?;
        // Databases treat NUL differently, so no stored text may contain it.
        if bytes.windows(NUL.len()).any(|window| window == NUL) {
            return Err(unexpected("it contains a NUL character").into());
        }
        Ok(JsonBody(read_json(&bytes)?))
    }
}

/// Reads a body as JSON. An empty body counts as an empty object.
pub(super) fn read_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    let text: &[u8] = if bytes.iter().all(u8::is_ascii_whitespace) { b"{}" } else { bytes };
    serde_json::from_slice(text).map_err(|error| unexpected(&without_values(&error)))
}

fn unexpected(message: &str) -> Refusal {
    let message = format!("invalid request body: {message}");
    Refusal::bad_request(message, "see /api/openapi.json")
}

/// NUL, escaped for JSON.
const NUL: &[u8] = br"\u0000";

/// serde's message without the value that it found: the response must not contain a password that is in the wrong place.
fn without_values(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let quotes = ["invalid type: ", "invalid value: ", "unknown variant "];
    match (quotes.iter().find(|start| message.starts_with(**start)), message.rfind(", expected ")) {
        (Some(start), Some(expected)) => {
            format!("{}{}", start.trim_end_matches([':', ' ']), &message[expected..])
        }
        _ => without_secrets(&message).into_owned(),
    }
}

/// The query parameters.
pub(crate) struct QueryParams<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Server> for QueryParams<T> {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<QueryParams<T>, HttpError> {
        let read = axum::extract::Query::<T>::try_from_uri(&parts.uri);
        let help = "see /api/openapi.json for the query parameters";
        Ok(read
            .map(|query| QueryParams(query.0))
            .map_err(|error| Refusal::bad_request(error.body_text(), help))?)
    }
}

impl FromRequestParts<Server> for IfMatch {
    type Rejection = HttpError;

    async fn from_request_parts(parts: &mut Parts, _: &Server) -> Result<IfMatch, HttpError> {
        let Some(value) = parts.headers.get(header::IF_MATCH) else { return Ok(IfMatch(None)) };
        let text = value.to_str().unwrap_or_default().trim();
        if text == "*" {
            return Ok(IfMatch(None));
        }
        let number = text.trim_start_matches("W/").trim_matches('"').parse();
        let help = "send the ETag of the response";
        let refused = |_| Refusal::bad_request("If-Match is not an ETag of this server", help);
        Ok(number.map(|number| IfMatch(Some(number))).map_err(refused)?)
    }
}

/// A JSON response.
pub(crate) fn json_ok(body: &impl Serialize) -> HandlerResult {
    Ok(Json(body).into_response())
}

/// A JSON response for something that was created.
pub(crate) fn json_created(body: &impl Serialize) -> HandlerResult {
    Ok((StatusCode::CREATED, Json(body)).into_response())
}

/// A JSON response for something that was started.
pub(crate) fn json_accepted(body: &impl Serialize) -> HandlerResult {
    Ok((StatusCode::ACCEPTED, Json(body)).into_response())
}

/// A response without a body.
pub(crate) fn no_content() -> HandlerResult {
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Adds the version to a response, as its `ETag`.
pub(crate) fn with_etag(answer: HandlerResult, version: i64) -> HandlerResult {
    let mut response = answer?;
    if let Ok(value) = HeaderValue::from_str(&format!("\"{version}\"")) {
        response.headers_mut().insert(header::ETAG, value);
    }
    Ok(response)
}

/// The text of a header.
pub(crate) fn header_text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}
