//! One preview.

use axum::extract::{Path, State};
use serde_json::Value;
use windlass_control::ask;
use windlass_control::caller::Identity;
use windlass_core::id::PreviewId;
use windlass_web::frame::NavEntry;
use windlass_web::pages::preview::PreviewPage;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::{frame, response};

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<PreviewId>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let mut preview = ask::preview::load(&mut reading, &who, &id).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Repositories).await?;
    drop(reading);
    let plan = std::mem::replace(&mut preview.plan, Value::Null);
    let plan = serde_json::from_value(plan)
        .inspect_err(
            |error| tracing::warn!(%error, preview = preview.id, "a stored preview is of another version"),
        )
        .ok();
    response::page(&visit, &PreviewPage { frame, preview, plan })
}
