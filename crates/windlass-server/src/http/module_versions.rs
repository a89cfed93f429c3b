//! Requests about the versions of modules.

use axum::extract::{Path, State};
use windlass_api::types::ModuleVersionBody;
use windlass_control::ask::module_version::{list_versions, set_state};
use windlass_control::ask::resource::change::{DirectAnswer, DirectChangeOptions};
use windlass_control::caller::Identity;

use crate::http::request::{HandlerResult, JsonBody, json_accepted, json_ok, with_etag};
use crate::state::Server;

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> HandlerResult {
    let mut reading = server.store().read_snapshot().await?;
    json_ok(&list_versions(&mut reading, &who, &id).await?)
}

pub(crate) async fn change(
    State(server): State<Server>,
    who: Identity,
    Path((id, version)): Path<(String, String)>,
    terms: DirectChangeOptions,
    JsonBody(body): JsonBody<ModuleVersionBody>,
) -> HandlerResult {
    match set_state(&server, &who, (&id, &version), body.state, &terms).await? {
        DirectAnswer::Made(body, generation) => with_etag(json_ok(&body), generation),
        DirectAnswer::Waits(waiting) => json_accepted(&waiting),
    }
}
