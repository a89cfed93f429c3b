//! `/mcp`: the tools of `windlass-mcp`, over HTTP.
//!
//! [`guard`] checks where a request comes from and that the caller is authenticated. Everything else is up to the API: what a
//! tool does goes through its router ([`caller`]), with the caller's own token.

pub(crate) mod caller;
pub(crate) mod guard;
pub(crate) mod host_names;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::http::header::AUTHORIZATION;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::Response;
use axum::routing::any;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::timeout::TimeoutLayer;
use windlass_control::caller::Identity;

use crate::http::guard::panic_response;
use crate::http::request_timeout::REQUEST_TIMEOUT;
use crate::mcp::caller::RouterCaller;
use crate::mcp::host_names::PATH;
use crate::state::Server;

/// The route, with its middleware. `inside` is the API's router as tools call it.
pub(crate) fn router(server: &Server, inside: Router) -> Router<Server> {
    let answer = move |State(server): State<Server>, who: Identity, request: Request| {
        let caller = RouterCaller::of(server, inside.clone(), who, &request);
        async move { answer(caller, request).await }
    };
    let timeout = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, REQUEST_TIMEOUT);
    Router::new()
        .route(PATH, any(answer).layer(timeout))
        .route_layer(from_fn_with_state(server.clone(), guard::admit))
        .layer(CatchPanicLayer::custom(panic_response))
        .layer(from_fn(guard::render_refusals))
}

async fn answer(caller: RouterCaller, mut request: Request) -> Response {
    // The caller already has it. Nothing else needs it, and a removed header cannot be logged.
    request.headers_mut().remove(AUTHORIZATION);
    windlass_mcp::protocol::answer(caller, request).await.map(Body::new)
}
