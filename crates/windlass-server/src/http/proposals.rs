//! Requests about proposals.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_api::types::{ApproveBody, BatchBody, EditBody, ProposalEnvelope, ProposalList, RejectBody};
use windlass_control::ask::proposal::approve::{self, ReviewedProposal};
use windlass_control::ask::proposal::batch::decide_all;
use windlass_control::ask::proposal::edit;
use windlass_control::ask::proposal::effects::load_with_effects;
use windlass_control::ask::proposal::list::{ProposalQuery, describe, filter_of, load};
use windlass_control::ask::proposal::reject::{self, RejectRequest};
use windlass_control::ask::proposal::wait::wait_until_applied;
use windlass_control::caller::Identity;
use windlass_control::control::Control;
use windlass_control::page::{IfMatch, cut, read_id};
use windlass_core::id::ProposalId;

use crate::http::page_text::PageQueryText;
use crate::http::request::{HandlerResult, JsonBody, QueryParams, json_ok, with_etag};
use crate::state::Server;

#[derive(Deserialize)]
pub(crate) struct ProposalsQuery {
    #[serde(flatten)]
    page: PageQueryText,
    #[serde(flatten)]
    choice: ProposalQuery,
}

#[derive(Deserialize)]
pub(crate) struct ApplyWaitQuery {
    wait: Option<u64>,
}

pub(crate) async fn list(
    State(server): State<Server>,
    who: Identity,
    QueryParams(query): QueryParams<ProposalsQuery>,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let filter = filter_of(&mut reading, &who, &query.choice).await?;
    let page = query.page.read()?;
    let limit = page.limit()?;
    let before = page.after_as(read_id)?;
    let mut found = reading.proposals(&who.account_id, &filter, before.as_ref(), limit + 1).await?;
    let meta = cut(&mut found, limit, |proposal| proposal.id.to_string());
    let proposals = describe(&mut reading, &who, &found).await?;
    json_ok(&ProposalList { proposals, meta })
}

async fn show_proposal(server: &Control, who: &Identity, id: &ProposalId) -> HandlerResult {
    let proposal = load(server, who, id).await?;
    let version = proposal.version;
    with_etag(json_ok(&ProposalEnvelope { proposal }), version)
}

pub(crate) async fn show(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<ProposalId>,
) -> HandlerResult {
    let proposal = load_with_effects(&server, &who, &id).await?;
    let version = proposal.version;
    with_etag(json_ok(&ProposalEnvelope { proposal }), version)
}

pub(crate) async fn approve(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<ProposalId>,
    JsonBody(body): JsonBody<ApproveBody>,
) -> HandlerResult {
    let reviewed = ReviewedProposal { id: &id, digest: body.digest.as_deref() };
    approve::approve(&server, &who, reviewed, body.reason.as_deref()).await?;
    show_proposal(&server, &who, &id).await
}

pub(crate) async fn reject(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<ProposalId>,
    JsonBody(body): JsonBody<RejectBody>,
) -> HandlerResult {
    let rejection = RejectRequest { reason: body.reason.as_deref(), until_change: body.until_change };
    reject::reject(&server, &who, &id, rejection).await?;
    show_proposal(&server, &who, &id).await
}

pub(crate) async fn edit(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<ProposalId>,
    if_match: IfMatch,
    JsonBody(body): JsonBody<EditBody>,
) -> HandlerResult {
    edit::edit(&server, &who, &id, &body.payload, if_match.0).await?;
    show_proposal(&server, &who, &id).await
}

pub(crate) async fn batch(
    State(server): State<Server>,
    who: Identity,
    JsonBody(body): JsonBody<BatchBody>,
) -> HandlerResult {
    json_ok(&decide_all(&server, &who, &body).await?)
}

pub(crate) async fn apply(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<ProposalId>,
    QueryParams(query): QueryParams<ApplyWaitQuery>,
) -> HandlerResult {
    wait_until_applied(&server, &who, &id, query.wait).await?;
    show_proposal(&server, &who, &id).await
}
