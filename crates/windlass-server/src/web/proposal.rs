//! One proposal, and the decision about it.

use axum::extract::{Path, State};
use serde::Deserialize;
use windlass_control::ask::proposal::approve::{self, Reviewed};
use windlass_control::ask::proposal::decision::DecisionError;
use windlass_control::ask::proposal::list;
use windlass_control::ask::proposal::reject::{self, Rejection};
use windlass_control::ask::run::show;
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_web::frame::{Notice, Place, Tone};
use windlass_web::pages::proposal::{Proposal, View};

use crate::http::request::{Answer, Query};
use crate::state::Server;
use crate::web::form::Form;
use crate::web::reach::load_reach;
use crate::web::visit::Visit;
use crate::web::{answer, frame};

#[derive(Deserialize)]
pub(super) struct ViewQuery {
    view: Option<String>,
}

pub(super) async fn show(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    Query(query): Query<ViewQuery>,
) -> Answer {
    let proposal = list::load(&server, &who, &id).await?;
    let mut reading = server.store().read().await?;
    let run = show::load_head(&mut reading, &who, &proposal.run_id).await?;
    let reach = load_reach(&mut reading, &who, &id).await?;
    let frame = frame::load(&server, &mut reading, &who, &visit, Place::Approvals).await?;
    drop(reading);
    let view = View::of(query.view.as_deref().unwrap_or_default());
    answer::page(&visit, &Proposal::new(frame, proposal, run, reach, view))
}

pub(super) async fn approve(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Answer {
    // Without the content that was looked at, nothing says what is approved.
    let Some(digest) = form.filled("digest") else {
        return Err(Refusal::bad_request("the form is incomplete", "reload the page").into());
    };
    let decided =
        approve::approve(&server, &who, Reviewed { id: &id, digest: Some(digest) }, form.filled("reason"))
            .await;
    told(&server, &visit, &id, decided, "Approved")
}

pub(super) async fn reject(
    State(server): State<Server>,
    who: Identity,
    visit: Visit,
    Path(id): Path<String>,
    form: Form,
) -> Answer {
    let rejection = Rejection { reason: form.filled("reason"), until_change: form.is_ticked("until_change") };
    let decided = reject::reject(&server, &who, &id, rejection).await;
    told(&server, &visit, &id, decided, "Rejected")
}

/// Back to the proposal, with what came of it. What is not there at all is an error of its own.
fn told(server: &Server, visit: &Visit, id: &str, decided: Result<(), DecisionError>, done: &str) -> Answer {
    let notice = match decided {
        Ok(()) => Notice::new(Tone::Good, done),
        Err(error @ (DecisionError::NotFound | DecisionError::Store(_))) => return Err(error.into()),
        Err(error) => {
            let body = Refusal::from(error).into_body();
            let lines = if body.help.is_empty() { Vec::new() } else { vec![body.help] };
            Notice { tone: Tone::Bad, message: body.message, lines }
        }
    };
    answer::go_saying(server, visit, &format!("/app/proposals/{id}"), &notice)
}
