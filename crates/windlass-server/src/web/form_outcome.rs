//! What came of a form, when its page is shown once more.

use axum::http::StatusCode;
use windlass_control::refusal::Refusal;
use windlass_web::Html;

use crate::http::error::status_of;
use crate::http::request::HandlerResult;
use crate::web::browser_request::BrowserRequest;
use crate::web::response;

/// What the page shows beside itself.
pub(super) enum FormOutcome<T> {
    /// Nothing: it was only asked for.
    Nothing,
    /// Something to show this once.
    Shown(T),
    /// An error.
    Error(Refusal),
}

impl<T> FormOutcome<T> {
    /// What to show, and what to mend. An error that the sender cannot mend is a page of its own.
    pub(super) fn split(self) -> Result<(Option<T>, Option<Refusal>), Refusal> {
        match self {
            FormOutcome::Nothing => Ok((None, None)),
            FormOutcome::Shown(shown) => Ok((Some(shown), None)),
            FormOutcome::Error(error) if is_user_error(&error) => Ok((None, Some(error))),
            FormOutcome::Error(error) => Err(error),
        }
    }
}

/// Whether an error is the sender's to mend, so that the form is shown again with it.
pub(super) fn is_user_error(error: &Refusal) -> bool {
    status_of(error).is_client_error() && status_of(error) != StatusCode::NOT_FOUND
}

/// The page, with the status of what there is to mend in it.
pub(super) fn page(visit: &BrowserRequest, status: StatusCode, page: &impl Html) -> HandlerResult {
    match status {
        StatusCode::OK => response::page(visit, page),
        status => Ok(response::html(status, page)),
    }
}
