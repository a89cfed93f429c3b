//! One preview.

use axum::extract::{Path, State};
use serde_json::Value;
use windlass_control::ask;
use windlass_control::caller::Identity;
use windlass_web::frame::Place;
use windlass_web::pages::preview::Preview;

use crate::http::request::Answer;
use crate::state::Server;
use crate::web::visit::Visit;
use crate::web::{answer, frame};

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
) -> Answer {
    let mut reading = server.store().read().await?;
    let mut preview = ask::preview::load(&mut reading, &who, &id).await?;
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
