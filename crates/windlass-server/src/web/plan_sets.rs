//! Approving a plan set of a run, and releasing proposals that a failed run holds.

use axum::extract::{Path, State};
use axum::http::StatusCode;
use windlass_api::types::{ApproveSetBody, ApprovedSet};
use windlass_control::ask::run::confirm_failure;
use windlass_control::caller::Identity;
use windlass_control::refusal::Refusal;
use windlass_core::id::RunId;
use windlass_web::frame::{Notice, Tone};

use crate::http::error::status_of;
use crate::http::plan_sets::approve_set;
use crate::http::request::HandlerResult;
use crate::state::Server;
use crate::web::browser_request::{BrowserRequest, local_path};
use crate::web::form::FormFields;
use crate::web::response;

/// The suffix that a button adds to the digest of a set if its label shows the number of destroys.
const WITH_DESTROYS: &str = " destroys";

/// The statuses of refusals that the page shows as a notice.
const REFUSALS: [StatusCode; 3] =
    [StatusCode::CONFLICT, StatusCode::FORBIDDEN, StatusCode::UNPROCESSABLE_ENTITY];

pub(super) async fn approve(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RunId>,
    form: FormFields,
) -> HandlerResult {
    let page = format!("/app/runs/{id}");
    let back = local_path(form.text("back")).unwrap_or(&page);
    // The digest of the set that the person reviewed specifies what is approved.
    let Some(set) = form.non_empty_text("digest").or_else(|| form.non_empty_text("set")) else {
        return Err(Refusal::bad_request("the form is incomplete", "reload the page").into());
    };
    let body = ApproveSetBody {
        digest: set.trim_end_matches(WITH_DESTROYS).to_owned(),
        include_destroys: form.is_ticked("include_destroys") || set.ends_with(WITH_DESTROYS),
        reason: form.non_empty_text("reason").map(str::to_owned),
    };
    let notice = notice_of(approve_set(&server, &who, &id, &body).await)?;
    response::redirect_with_notice(&server, &visit, back, &notice)
}

fn notice_of(approved: Result<ApprovedSet, Refusal>) -> Result<Notice, Refusal> {
    let approved = match approved {
        Ok(approved) => approved,
        Err(error) if REFUSALS.contains(&status_of(&error)) => {
            let body = error.into_body();
            let lines = if body.help.is_empty() { Vec::new() } else { vec![body.help] };
            return Ok(Notice { tone: Tone::Bad, message: body.message, lines });
        }
        Err(error) => return Err(error),
    };
    let tone = if approved.not_counted.is_empty() { Tone::Good } else { Tone::Warn };
    let mut notice = Notice::new(tone, format!("Approved {} changes", approved.count));
    if approved.waiting > 0 {
        notice.lines.push(format!("{} need more approvals", approved.waiting));
    }
    notice.lines.extend(approved.not_counted.into_iter().take(8));
    Ok(notice)
}

pub(super) async fn confirm_failure(
    State(server): State<Server>,
    who: Identity,
    visit: BrowserRequest,
    Path(id): Path<RunId>,
    form: FormFields,
) -> HandlerResult {
    confirm_failure::confirm_failure(&server, &who, &id, form.non_empty_text("reason")).await?;
    let notice = Notice::new(Tone::Good, "Applying resumed despite the failed sync");
    response::redirect_with_notice(&server, &visit, &format!("/app/runs/{id}"), &notice)
}
