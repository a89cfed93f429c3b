//! Enrolment of agents: decisions about hosts that want to join, and tokens.

use std::collections::BTreeMap;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use windlass_api::types::{BatchEnrollmentBody, NodeSelectorInfo};
use windlass_control::ask::enrolment::join::{JoinDecision, decide_join, load_joins};
use windlass_control::ask::enrolment::token::{create_batch, load_tokens, revoke_token};
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::enrolment::JoinPolicy;
use windlass_core::id::{EnrolmentTokenId, JoinId};
use windlass_web::frame::NavEntry;
use windlass_web::pages::enrolment::{BatchTokenForm, ENROLMENT_URL, EnrolmentCommand, EnrolmentPage};

use crate::http::error::status_of;
use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::BrowserRequest;
use crate::web::drift::redirect_with_result;
use crate::web::form::FormFields;
use crate::web::form_outcome::{self, FormOutcome};
use crate::web::frame;

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
) -> HandlerResult {
    page(&server, &who, &visit, BatchTokenForm::default(), FormOutcome::Nothing).await
}

pub(super) async fn create_token(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    form: FormFields,
) -> HandlerResult {
    let filled = filled(&form);
    let created = match read(&filled) {
        Ok(body) => create_batch(&server, &who, body).await,
        Err(error) => Err(error),
    };
    match created {
        // The secret is stored nowhere, so only the response that created it shows it.
        Ok(created) => {
            let shown = FormOutcome::Shown(EnrolmentCommand::of(created));
            page(&server, &who, &visit, BatchTokenForm::default(), shown).await
        }
        Err(error) => page(&server, &who, &visit, filled, FormOutcome::Error(error)).await,
    }
}

fn filled(form: &FormFields) -> BatchTokenForm {
    let default = BatchTokenForm::default();
    BatchTokenForm {
        labels: form.text("labels").trim().to_owned(),
        name: form.text("name").trim().to_owned(),
        uses: form.text("uses").trim().to_owned(),
        join: JoinPolicy::from_slug(form.text("join")).unwrap_or(default.join),
        lifetime: form.text("lifetime").parse().unwrap_or(default.lifetime),
    }
}

fn read(filled: &BatchTokenForm) -> Result<BatchEnrollmentBody, Refusal> {
    let uses = filled.uses.parse().map_err(|_| {
        Refusal::unprocessable("bad-value", "the number of uses must be a whole number", "1 to 10000")
    })?;
    let name = Some(filled.name.clone()).filter(|name| !name.is_empty());
    Ok(BatchEnrollmentBody {
        selector: NodeSelectorInfo { labels: read_labels(&filled.labels)?, name },
        uses,
        join: Some(filled.join),
        expires_in_seconds: Some(filled.lifetime),
    })
}

/// Reads labels separated by commas or spaces: `env=prod, tier=web`.
fn read_labels(text: &str) -> Result<BTreeMap<String, String>, Refusal> {
    let labels = text.split([',', ' ', '\n']).filter(|label| !label.is_empty());
    labels
        .map(|label| match label.split_once('=') {
            Some((key, value)) => Ok((key.to_owned(), value.to_owned())),
            None => {
                let message = format!("{label} is not a label");
                Err(Refusal::unprocessable("bad-selector", message, "write labels as key=value"))
            }
        })
        .collect()
}

async fn page(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    form: BatchTokenForm,
    outcome: FormOutcome<EnrolmentCommand>,
) -> HandlerResult {
    let (created, error) = outcome.split()?;
    let mut reading = server.store().read().await?;
    let joins = load_joins(&mut reading, who).await?.node_joins;
    let tokens = load_tokens(&mut reading, who).await?.enrollment_tokens;
    let frame = frame::load(server, &mut reading, who, visit, NavEntry::Nodes).await?;
    drop(reading);
    let status = error.as_ref().map_or(StatusCode::OK, status_of);
    let error = error.map(Refusal::into_body);
    form_outcome::page(visit, status, &EnrolmentPage { frame, joins, tokens, form, error, created })
}

pub(super) async fn revoke(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<EnrolmentTokenId>,
    form: FormFields,
) -> HandlerResult {
    let done = revoke_token(&server, &who, &id).await.map(|()| "Enrolment token revoked".to_owned());
    redirect_with_result(&server, &visit, &form, ENROLMENT_URL, done)
}

pub(super) async fn approve(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<JoinId>,
    form: FormFields,
) -> HandlerResult {
    decide_and_return(&server, &who, &visit, &id, (JoinDecision::Approve, &form)).await
}

pub(super) async fn reject(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<JoinId>,
    form: FormFields,
) -> HandlerResult {
    decide_and_return(&server, &who, &visit, &id, (JoinDecision::Reject, &form)).await
}

async fn decide_and_return(
    server: &Server,
    who: &Identity,
    visit: &BrowserRequest,
    id: &JoinId,
    (decision, form): (JoinDecision, &FormFields),
) -> HandlerResult {
    let done = decide_join(server, who, id, decision).await.map(|decided| {
        let node = decided.node_join.node;
        match decision {
            JoinDecision::Approve => format!("Approved {node}: the agent enrols with its next attempt"),
            JoinDecision::Reject => format!("Rejected {node}"),
        }
    });
    redirect_with_result(server, visit, form, ENROLMENT_URL, done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_read_as_people_write_them() {
        let read = read_labels("env=prod, tier=web  rack=").unwrap_or_default();
        let expected = [("env", "prod"), ("rack", ""), ("tier", "web")];
        assert_eq!(read, expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into());
        assert!(read_labels("env").is_err());
        assert_eq!(read_labels(" , ").map(|labels| labels.len()).unwrap_or(9), 0);
    }
}
