//! Editing the content of a proposal.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use serde_json::Value;
use windlass_api::types::{ErrorBody, Problem, ProposalInfo};
use windlass_control::ask::proposal::decision::DecisionError;
use windlass_control::ask::proposal::{self, list};
use windlass_control::caller::Identity;
use windlass_control::payload::spec_value;
use windlass_control::refusal::Refusal;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::id::ProposalId;
use windlass_core::resource::{Kind, Spec};
use windlass_core::shape::Defaults;
use windlass_core::yaml;
use windlass_web::frame::{NavEntry, Notice, Tone};
use windlass_web::pages::edit::EditPage;

use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::form::FormFields;
use crate::web::{frame, response};

/// What is wrong with an edit.
#[derive(Default)]
struct EditProblems {
    problems: Vec<Problem>,
    error: Option<ErrorBody>,
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<ProposalId>,
) -> HandlerResult {
    let proposal = list::load(&server, &who, &id).await?;
    let text = text_of(&proposal);
    form(&server, &who, &visit, proposal, text, EditProblems::default()).await
}

/// The spec that would be applied, without its name, which cannot be edited.
fn text_of(proposal: &ProposalInfo) -> String {
    let payload = proposal.edited_payload.as_ref().unwrap_or(&proposal.payload);
    let spec =
        Kind::from_word(&proposal.kind).and_then(|kind| spec_value(kind, &proposal.name, payload).ok());
    yaml::write(spec.unwrap_or_else(|| payload.clone()))
}

pub(super) async fn save(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<ProposalId>,
    fields: FormFields,
) -> HandlerResult {
    let proposal = list::load(&server, &who, &id).await?;
    let text = fields.text("text").to_owned();
    let version = fields.text("version").parse().ok();
    let saved = match fields.is_ticked("undo") {
        true => proposal::edit::edit(&server, &who, &id, &Value::Null, version).await,
        false => match read(&proposal, &text) {
            Ok(payload) => proposal::edit::edit(&server, &who, &id, &payload, version).await,
            Err(diagnostics) => Err(DecisionError::InvalidEdit(diagnostics)),
        },
    };
    let wrong = match saved {
        Ok(()) => {
            let notice =
                Notice::new(Tone::Good, if fields.is_ticked("undo") { "Edit discarded" } else { "Edited" });
            return response::redirect_with_notice(&server, &visit, &format!("/app/proposals/{id}"), &notice);
        }
        Err(DecisionError::InvalidEdit(diagnostics)) => {
            EditProblems { problems: diagnostics.iter().map(problem).collect(), error: None }
        }
        Err(error @ (DecisionError::NotFound | DecisionError::Store(_))) => return Err(error.into()),
        Err(error) => EditProblems { problems: Vec::new(), error: Some(Refusal::from(error).into_body()) },
    };
    form(&server, &who, &visit, proposal, text, wrong).await
}

/// The text as a spec, or its problems.
fn read(proposal: &ProposalInfo, text: &str) -> Result<Value, Vec<Diagnostic>> {
    let Some(kind) = Kind::from_word(&proposal.kind) else { return Err(Vec::new()) };
    let read = Spec::read(kind, text);
    read.spec.map(|spec| spec.to_json(Defaults::Omit)).ok_or(read.diagnostics)
}

/// A problem as pages show it.
pub(super) fn problem(diagnostic: &Diagnostic) -> Problem {
    Problem {
        severity: diagnostic.severity,
        code: diagnostic.code.slug().to_owned(),
        path: diagnostic.path.clone(),
        file: String::new(),
        line: diagnostic.line,
        column: diagnostic.column,
        message: diagnostic.message.clone(),
        help: diagnostic.help.clone(),
    }
}

async fn form(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    proposal: ProposalInfo,
    text: String,
    wrong: EditProblems,
) -> HandlerResult {
    let mut reading = server.store().read().await?;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Approvals).await?;
    drop(reading);
    let is_wrong = !wrong.problems.is_empty() || wrong.error.is_some();
    let page = EditPage { frame, proposal, text, problems: wrong.problems, error: wrong.error };
    match is_wrong {
        true => Ok(response::html(StatusCode::UNPROCESSABLE_ENTITY, &page)),
        false => response::page(visit, &page),
    }
}
