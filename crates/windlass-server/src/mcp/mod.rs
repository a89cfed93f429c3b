//! `/mcp`: the tools of `windlass-mcp`, over HTTP.
//!
//! Nothing is decided here but whether a request may be answered at all ([`guard`]: it comes from where it may, and
//! someone is asking). What a tool does goes through the API's own router ([`caller`]), with the caller's own token.

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

use crate::http::guard::panicked;
use crate::http::patience::PATIENCE;
use crate::mcp::caller::RouterCaller;
use crate::mcp::host_names::PATH;
use crate::state::Server;

/// The one route, with what surrounds it. `inside` is the API as tools call it.
pub(crate) fn router(server: &Server, inside: Router) -> Router<Server> {
    let answer = move |State(server): State<Server>, who: Identity, request: Request| {
        let caller = RouterCaller::of(server, inside.clone(), who, &request);
        async move { answer(caller, request).await }
    };
    let patience = TimeoutLayer::with_status_code(StatusCode::GATEWAY_TIMEOUT, PATIENCE);
    Router::new()
        .route(PATH, any(answer).layer(patience))
        .route_layer(from_fn_with_state(server.clone(), guard::admit))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(guard::render_refusals))
}

async fn answer(caller: RouterCaller, mut request: Request) -> Response {
    // The caller has it. Nobody else needs it, and what nobody has nobody logs.
    request.headers_mut().remove(AUTHORIZATION);
    windlass_mcp::protocol::answer(caller, request).await.map(Body::new)
}
