//! What machines ask: is it alive, can it work, how much does it do.

use std::sync::OnceLock;

use axum::extract::State;
use axum::response::IntoResponse as _;
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;

use super::request::{Answer, ok};
use crate::numbers;
use crate::refusal::{Refusal, RefusalKind};
use crate::server::Server;

/// Where numbers are gathered: one for the process.
static RECORDER: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Begins to gather numbers.
pub(crate) fn gather_numbers() {
    RECORDER.get_or_init(numbers::gather);
}

/// Puts what was measured into its buckets, so that it takes no more room however seldom anyone asks.
pub(crate) fn tidy_numbers() {
    if let Some(handle) = RECORDER.get().and_then(Option::as_ref) {
        handle.run_upkeep();
    }
}

/// What was gathered so far, as Prometheus reads it.
pub(crate) fn gathered_numbers() -> String {
    RECORDER.get().and_then(Option::as_ref).map(PrometheusHandle::render).unwrap_or_default()
}

pub(super) async fn health() -> Answer {
    ok(&json!({"status": "alive"}))
}

/// Anyone may ask this: which part is not ready is told, and why is for the log.
pub(super) async fn ready(State(server): State<Server>) -> Answer {
    let mut parts: Vec<&'static str> = server.troubles().keys().copied().collect();
    if let Err(error) = ask_database(&server).await {
        tracing::error!(%error, "the database does not answer");
        parts.push("database");
    }
    if server.is_stopping() {
        parts.push("server, which is stopping");
    }
    if parts.is_empty() {
        return ok(&json!({"status": "ready"}));
    }
    let message = format!("not ready: {}", parts.join(", "));
    let help = "the server's log says why; it goes on by itself once this is mended";
    Err(Refusal::new(RefusalKind::Unavailable, "not-ready", message, help).into())
}

async fn ask_database(server: &Server) -> Result<(), windlass_store::StoreError> {
    server.store().read().await?.users_count().await.map(drop)
}

pub(super) async fn metrics() -> Answer {
    let text = gathered_numbers();
    Ok(([("content-type", "text/plain; version=0.0.4")], text).into_response())
}

pub(super) async fn openapi() -> Answer {
    ok(&windlass_api::openapi::document())
}

pub(super) async fn nowhere() -> Answer {
    Err(Refusal::not_found().into())
}

pub(super) async fn wrong_method() -> Answer {
    let message = "this cannot be done here";
    Err(Refusal::new(RefusalKind::WrongMethod, "method-not-allowed", message, "see /api/openapi.json").into())
}
