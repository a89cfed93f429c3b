//! One proposal, and the decision about it.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_control::ask::proposal::approve::{self, ReviewedProposal};
use windlass_control::ask::proposal::decision::DecisionError;
use windlass_control::ask::proposal::effects::load_with_effects;
use windlass_control::ask::proposal::reject::{self, RejectRequest};
use windlass_control::ask::run::show;
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::id::{ProposalId, RunId};
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::proposal::{DiffLayout, ProposalPage};

use crate::http::request::{HandlerResult, QueryParams};
use crate::state::Server;
use crate::web::blast_radius::load_blast_radius;
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::{frame, response};

#[derive(Deserialize)]
pub(super) struct ViewQuery {
    view: Option<String>,
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<ProposalId>,
    QueryParams(query): QueryParams<ViewQuery>,
) -> HandlerResult {
    let proposal = load_with_effects(&server, &who, &id).await?;
    let mut reading = server.store().read().await?;
    let run = show::load_head(&mut reading, &who, &RunId::new(&proposal.run_id)).await?;
    let blast_radius = load_blast_radius(&mut reading, &who, &id).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, NavEntry::Approvals).await?;
    drop(reading);
    let view = DiffLayout::of(query.view.as_deref().unwrap_or_default());
    response::page(&visit, &ProposalPage::new(frame, proposal, run, blast_radius, view))
}

pub(super) async fn approve(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<ProposalId>,
    form: FormFields,
) -> HandlerResult {
    // The digest of the content that the person reviewed specifies what is approved.
    let Some(digest) = form.non_empty_text("digest") else {
        return Err(Refusal::bad_request("the form is incomplete", "reload the page").into());
    };
    let decided = approve::approve(
        &server,
        &who,
        ReviewedProposal { id: &id, digest: Some(digest) },
        form.non_empty_text("reason"),
    )
    .await;
    redirect_with_result(&server, &visit, &id, decided, "Approved")
}

pub(super) async fn reject(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<ProposalId>,
    form: FormFields,
) -> HandlerResult {
    let rejection =
        RejectRequest { reason: form.non_empty_text("reason"), until_change: form.is_ticked("until_change") };
    let decided = reject::reject(&server, &who, &id, rejection).await;
    redirect_with_result(&server, &visit, &id, decided, "Rejected")
}

/// Redirects to the proposal, with the result as a notice. A missing proposal and a database error get their own page.
fn redirect_with_result(
    server: &Server,
    visit: &BrowserRequest,
    id: &ProposalId,
    decided: Result<(), DecisionError>,
    done: &str,
) -> HandlerResult {
    let notice = match decided {
        Ok(()) => Notice::new(Tone::Good, done),
        Err(error @ (DecisionError::NotFound | DecisionError::Store(_))) => return Err(error.into()),
        Err(error) => {
            let body = Refusal::from(error).into_body();
            let lines = if body.help.is_empty() { Vec::new() } else { vec![body.help] };
            Notice { tone: Tone::Bad, message: body.message, lines }
        }
    };
    response::redirect_with_notice(server, visit, &format!("/app/proposals/{id}"), &notice)
}
