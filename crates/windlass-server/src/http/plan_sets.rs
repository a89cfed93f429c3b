//! Requests about plan sets and failed runs.

use axum::extract::{Path, State};
use windlass_api::types::{ApproveSetBody, ApprovedSet, ConfirmFailureBody, RunEnvelope};
use windlass_control::ask::plan_set::{self, DestroyConfirmation, ReviewedSet};
use windlass_control::ask::run::{confirm_failure, show};
use windlass_control::caller::Identity;
use windlass_control::control::Control;
use windlass_control::refusal::Refusal;
use windlass_core::id::RunId;

use crate::http::request::{HandlerResult, JsonBody, json_ok};
use crate::state::Server;

pub(crate) async fn approve(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RunId>,
    JsonBody(body): JsonBody<ApproveSetBody>,
) -> HandlerResult {
    json_ok(&approve_set(&server, &who, &id, &body).await?)
}

/// Approves a plan set of a run.
pub(crate) async fn approve_set(
    server: &Control,
    who: &Identity,
    run_id: &RunId,
    body: &ApproveSetBody,
) -> Result<ApprovedSet, Refusal> {
    let destroys = if body.include_destroys {
        DestroyConfirmation::Confirmed
    } else {
        DestroyConfirmation::NotConfirmed
    };
    let review = ReviewedSet { digest: &body.digest, destroys, reason: body.reason.as_deref() };
    Ok(plan_set::approve_set(server, who, run_id, review).await?)
}

pub(crate) async fn confirm_failure(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<RunId>,
    JsonBody(body): JsonBody<ConfirmFailureBody>,
) -> HandlerResult {
    confirm_failure::confirm_failure(&server, &who, &id, body.reason.as_deref()).await?;
    json_ok(&RunEnvelope { sync_run: show::load(&server, &who, &id, 0).await? })
}
