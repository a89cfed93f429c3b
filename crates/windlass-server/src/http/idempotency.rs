//! `Idempotency-Key`: when a client repeats a POST with the same key, the server sends the same response and does not repeat
//! the work, even if the server or the connection failed in between.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use windlass_control::caller::Identity;
use windlass_control::clock::now;
use windlass_control::crash::crash_point;
use windlass_control::idempotency::IdempotentRequest;
use windlass_control::refusal::Refusal;
use windlass_core::digest::Digest;
use windlass_core::id::AccountId;
use windlass_store::{Answer, KeyedRequest};

use crate::http::body::read_whole;
use crate::http::error::HttpError;
use crate::state::Server;

/// Whether the response contains a secret that is stored nowhere.
fn holds_secret(path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    ["/api/v1/auth/tokens", "/api/v1/auth/users", "/api/v1/system/enrollment_tokens"].contains(&path)
        || path.ends_with("/webhook/rotate")
        || path.ends_with("/enrollment")
}

/// Requests in progress, by account and key.
static IN_PROGRESS: LazyLock<Mutex<BTreeSet<(AccountId, String)>>> = LazyLock::new(Mutex::default);

fn in_progress() -> MutexGuard<'static, BTreeSet<(AccountId, String)>> {
    IN_PROGRESS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds a key while its request is in progress.
struct HeldKey((AccountId, String));

impl Drop for HeldKey {
    fn drop(&mut self) {
        in_progress().remove(&self.0);
    }
}

pub(crate) async fn handle_idempotency_key(
    State(server): State<Server>,
    request: Request,
    next: Next,
) -> Response {
    let key = request.headers().get("idempotency-key");
    let identity = request.extensions().get::<Identity>().cloned();
    let (Some(key), Some(identity)) = (key, identity) else { return next.run(request).await };
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let key = key.to_str().ok().filter(|key| (1..=200).contains(&key.len())).map(str::to_owned);
    let Some(key) = key else {
        let refusal = Refusal::bad_request("an Idempotency-Key must have 1 to 200 ASCII characters", "");
        return HttpError(refusal).into_response();
    };
    answer(&server, &identity, key, request, next)
        .await
        .unwrap_or_else(|error| HttpError(error).into_response())
}

async fn answer(
    server: &Server,
    identity: &Identity,
    key: String,
    request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let held = (identity.account_id.clone(), key.clone());
    if !in_progress().insert(held.clone()) {
        return Err(Refusal::already_in_progress());
    }
    let held = HeldKey(held);
    let (parts, body) = request.into_parts();
    let bytes = read_whole(body).await?;
    let path = parts.uri.to_string();
    let digest =
        Digest::of_parts([identity.user_id.as_str().as_bytes(), path.as_bytes(), &bytes]).to_string();
    let known = server.store().read().await?.request(&identity.account_id, &key).await?;
    if let Some(known) = known {
        return repeated_request(known, &digest, &path);
    }
    let work =
        KeyedWork { server: server.clone(), account_id: identity.account_id.clone(), key, digest, path };
    let request = Request::from_parts(parts, Body::from(bytes));
    // The task runs to its end even if the client disconnects: the client will retry, and must get the response.
    let task = tokio::spawn(async move {
        let _held = held;
        work.carry_out(request, next).await
    });
    task.await.unwrap_or_else(|ended| match ended.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => Err(unknown_outcome()),
    })
}

/// The response to a request whose key is known.
fn repeated_request(known: KeyedRequest, digest: &str, path: &str) -> Result<Response, Refusal> {
    if known.digest != digest {
        let message = "this Idempotency-Key was used for another request";
        let help = "use a new key for each request";
        return Err(Refusal::unprocessable("idempotency-reused", message, help));
    }
    match known.answer {
        None => Err(unknown_outcome()),
        Some(_) if holds_secret(path) => {
            let message = "this request was already done, and its response contained a secret that is shown only \
                once";
            Err(Refusal::conflict("idempotency-shown-once", message, "revoke it and create another"))
        }
        Some(answer) => Ok(replay(answer)),
    }
}

/// The server crashed or stopped before it stored the response, or another replica is still working on the request.
fn unknown_outcome() -> Refusal {
    let message = "a request with this key was carried out at least partly, and its response is unknown";
    let help = "check the current state; repeat what is missing with a new key";
    Refusal::conflict("request-in-doubt", message, help)
}

/// A request that was not carried out yet.
struct KeyedWork {
    server: Server,
    account_id: AccountId,
    key: String,
    digest: String,
    path: String,
}

impl KeyedWork {
    async fn carry_out(self, request: Request, next: Next) -> Result<Response, Refusal> {
        let once = IdempotentRequest::new(&self.account_id, &self.key, &self.digest);
        let response = once.carry_out(next.run(request)).await;
        crash_point("request.done");
        let status = response.status();
        if status.is_success() {
            return self.store_response(response).await;
        }
        // A refused request can be repeated, so its key is deleted. After a server error it is unknown whether the work was
        // done, so the key stays.
        if status.is_client_error() && once.has_changed_something() {
            let mut writing = self.server.store().write().await?;
            writing.request_delete(&self.account_id, &self.key).await?;
            writing.commit().await?;
        }
        Ok(response)
    }

    /// Stores the response for repeated requests.
    async fn store_response(self, response: Response) -> Result<Response, Refusal> {
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.map_err(|_| unknown_outcome())?;
        // Secrets that are shown once are not stored, so such a response cannot be repeated.
        let body = match holds_secret(&self.path) {
            true => String::new(),
            false => String::from_utf8_lossy(&bytes).into_owned(),
        };
        let kept = Answer { status: i64::from(parts.status.as_u16()), body };
        let mut writing = self.server.store().write().await?;
        writing.request_answer(&self.account_id, &self.key, &self.digest, &kept, now()).await?;
        writing.commit().await?;
        Ok(Response::from_parts(parts, Body::from(bytes)))
    }
}

fn replay(answer: Answer) -> Response {
    let status = u16::try_from(answer.status).ok().and_then(|status| StatusCode::from_u16(status).ok());
    let mut response = (status.unwrap_or(StatusCode::OK), answer.body).into_response();
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert("idempotent-replay", HeaderValue::from_static("true"));
    response
}
