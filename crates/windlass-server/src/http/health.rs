//! Requests of monitoring systems: health, readiness, metrics; and requests without a route.

use axum::extract::State;
use axum::response::IntoResponse as _;
use serde_json::json;
use windlass_control::metrics::render_metrics;
use windlass_control::refusal::{Refusal, RefusalKind};

use crate::http::request::{HandlerResult, json_ok};
use crate::state::Server;

pub(crate) async fn health() -> HandlerResult {
    json_ok(&json!({"status": "alive"}))
}

/// Anyone may call this, so the response names the part that is not ready, and only the log has the cause.
pub(crate) async fn ready(State(server): State<Server>) -> HandlerResult {
    let mut parts: Vec<&'static str> = server.problems().keys().copied().collect();
    if let Err(error) = check_database(&server).await {
        tracing::error!(%error, "the database does not respond");
        parts.push("database");
    }
    if server.is_stopping() {
        parts.push("server, which is stopping");
    }
    if parts.is_empty() {
        return json_ok(&json!({"status": "ready"}));
    }
    let message = format!("not ready: {}", parts.join(", "));
    let help = "see the server's log; the server recovers automatically once the cause is fixed";
    Err(Refusal::new(RefusalKind::Unavailable, "not-ready", message, help).into())
}

async fn check_database(server: &Server) -> Result<(), windlass_store::StoreError> {
    server.store().read().await?.users_count().await.map(drop)
}

pub(crate) async fn metrics() -> HandlerResult {
    let text = render_metrics();
    Ok(([("content-type", "text/plain; version=0.0.4")], text).into_response())
}

pub(crate) async fn openapi() -> HandlerResult {
    json_ok(&windlass_api::openapi::document())
}

pub(crate) async fn route_not_found() -> HandlerResult {
    Err(Refusal::not_found().into())
}

pub(crate) async fn wrong_method() -> HandlerResult {
    let message = "this address does not support that method";
    Err(Refusal::new(RefusalKind::WrongMethod, "method-not-allowed", message, "see /api/openapi.json").into())
}
