//! `Idempotency-Key`: a POST that is sent again with the same key is answered again and not done again.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_core::digest::Digest;
use windlass_store::Answer;

use super::body::read_whole;
use super::error::HttpError;
use crate::auth::Identity;
use crate::clock::now;
use crate::server::Server;

/// Where the answer holds a secret that is shown once and stored nowhere.
const SHOWN_ONCE: &[&str] = &["/api/v1/auth/tokens", "/api/v1/auth/users"];

/// Requests under way, by account and key.
static UNDER_WAY: LazyLock<Mutex<BTreeSet<(String, String)>>> = LazyLock::new(Mutex::default);

fn under_way() -> MutexGuard<'static, BTreeSet<(String, String)>> {
    UNDER_WAY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds a key while its request is under way.
struct Held((String, String));

impl Drop for Held {
    fn drop(&mut self) {
        under_way().remove(&self.0);
    }
}

pub(super) async fn remember(State(server): State<Server>, request: Request, next: Next) -> Response {
    let key = request.headers().get("idempotency-key");
    let identity = request.extensions().get::<Identity>().cloned();
    let (Some(key), Some(identity)) = (key, identity) else { return next.run(request).await };
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let key = key.to_str().ok().filter(|key| (1..=200).contains(&key.len())).map(str::to_owned);
    let Some(key) = key else {
        return HttpError::bad_request("an Idempotency-Key has 1 to 200 characters of ASCII", "")
            .into_response();
    };
    answer(&server, &identity, key, request, next).await.unwrap_or_else(|error| error.into_response())
}

async fn answer(
    server: &Server,
    identity: &Identity,
    key: String,
    request: Request,
    next: Next,
) -> Result<Response, HttpError> {
    let held = (identity.account_id.clone(), key.clone());
    if !under_way().insert(held.clone()) {
        let help = "wait for its answer, or use another key";
        return Err(HttpError::conflict(
            "idempotency-under-way",
            "a request with this key is under way",
            help,
        ));
    }
    let _held = Held(held);
    let (parts, body) = request.into_parts();
    let bytes = read_whole(body).await?;
    let path = parts.uri.to_string();
    let digest = Digest::of_parts([identity.user_id.as_bytes(), path.as_bytes(), &bytes]).to_string();
    let known = server.store().read().await?.answer(&identity.account_id, &key).await?;
    if let Some(known) = known {
        return match known.request_digest == digest {
            true if SHOWN_ONCE.contains(&path.as_str()) => {
                let message = "this was done, and its answer held a secret that is shown once";
                Err(HttpError::conflict("idempotency-shown-once", message, "take it back and make another"))
            }
            true => Ok(replay(known)),
            false => {
                let message = "this Idempotency-Key was used for another request";
                Err(HttpError::unprocessable("idempotency-reused", message, "use a new key for each request"))
            }
        };
    }
    let response = next.run(Request::from_parts(parts, Body::from(bytes))).await;
    if !response.status().is_success() {
        return Ok(response);
    }
    let (parts, body) = response.into_parts();
    let broken =
        |_| HttpError::conflict("internal", "it was done, but its answer is lost", "look at what is there");
    let bytes = to_bytes(body, usize::MAX).await.map_err(broken)?;
    // Secrets that are shown once are not kept: such an answer cannot be given again.
    let body = match SHOWN_ONCE.contains(&path.as_str()) {
        true => String::new(),
        false => String::from_utf8_lossy(&bytes).into_owned(),
    };
    let kept = Answer { request_digest: digest, status: i64::from(parts.status.as_u16()), body };
    let mut writing = server.store().write().await?;
    writing.answer_add(&identity.account_id, &key, &kept, now()).await?;
    writing.commit().await?;
    Ok(Response::from_parts(parts, Body::from(bytes)))
}

fn replay(answer: Answer) -> Response {
    let status = u16::try_from(answer.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let mut response = (status.unwrap_or(StatusCode::OK), answer.body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert("idempotent-replay", HeaderValue::from_static("true"));
    response
}
