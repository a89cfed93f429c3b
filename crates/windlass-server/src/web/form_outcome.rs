//! The result of a form, when its page is shown again.

use axum::http::StatusCode;
use windlass_control::refusal::Refusal;
use windlass_web::Html;

use crate::http::error::status_of;
use crate::http::request::HandlerResult;
use crate::web::browser_request::BrowserRequest;
use crate::web::response;

/// What the page shows in addition to its content.
pub(super) enum FormOutcome<T> {
    /// Nothing: no form was submitted.
    Nothing,
    /// Something to show once.
    Shown(T),
    /// An error.
    Error(Refusal),
}

impl<T> FormOutcome<T> {
    /// What to show, and the error to fix. An error that the person cannot fix is returned as an error and gets its own page.
    pub(super) fn split(self) -> Result<(Option<T>, Option<Refusal>), Refusal> {
        match self {
            FormOutcome::Nothing => Ok((None, None)),
            FormOutcome::Shown(shown) => Ok((Some(shown), None)),
            FormOutcome::Error(error) if is_user_error(&error) => Ok((None, Some(error))),
            FormOutcome::Error(error) => Err(error),
        }
    }
}

/// Whether the person can fix an error, so that the form is shown again with it.
pub(super) fn is_user_error(error: &Refusal) -> bool {
    status_of(error).is_client_error() && status_of(error) != StatusCode::NOT_FOUND
}

/// The page, with the status of the error that it shows.
pub(super) fn page(visit: &BrowserRequest, status: StatusCode, page: &impl Html) -> HandlerResult {
    match status {
        StatusCode::OK => response::page(visit, page),
        status => Ok(response::html(status, page)),
    }
}
