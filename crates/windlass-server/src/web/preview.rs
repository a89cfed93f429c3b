//! One preview.

use axum::extract::{Path, State};
use serde_json::Value;
use windlass_web::frame::Place;
use windlass_web::pages::preview::Preview;

use super::visit::Visit;
use super::{answer, frame};
use crate::auth::Identity;
use crate::http::previews;
use crate::http::request::Answer;
use crate::server::Server;

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
) -> Answer {
    let mut reading = server.store().read().await?;
    let mut preview = previews::load(&mut reading, &who, &id).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Repositories).await?;
    drop(reading);
    let plan = std::mem::replace(&mut preview.plan, Value::Null);
    let plan = serde_json::from_value(plan)
        .inspect_err(
            |error| tracing::warn!(%error, preview = preview.id, "a kept preview is of another version"),
        )
        .ok();
    answer::page(&visit, &Preview { frame, preview, plan })
}
