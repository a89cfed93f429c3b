//! What came of a form, when its page is shown once more.

use axum::http::StatusCode;
use windlass_control::refusal::Refusal;
use windlass_web::Html;

use crate::http::error::status_of;
use crate::http::request::Answer;
use crate::web::answer;
use crate::web::visit::Visit;

/// What the page shows beside itself.
pub(super) enum Came<T> {
    /// Nothing: it was only asked for.
    Nothing,
    /// Something to show this once.
    Shown(T),
    /// An error.
    Error(Refusal),
}

impl<T> Came<T> {
    /// What to show, and what to mend. An error that the sender cannot mend is a page of its own.
    pub(super) fn parted(self) -> Result<(Option<T>, Option<Refusal>), Refusal> {
        match self {
            Came::Nothing => Ok((None, None)),
            Came::Shown(shown) => Ok((Some(shown), None)),
            Came::Error(error) if is_mendable(&error) => Ok((None, Some(error))),
            Came::Error(error) => Err(error),
        }
    }
}

/// Whether an error is the sender's to mend, so that the form is shown again with it.
pub(super) fn is_mendable(error: &Refusal) -> bool {
    status_of(error).is_client_error() && status_of(error) != StatusCode::NOT_FOUND
}

/// The page, with the status of what there is to mend in it.
pub(super) fn page(visit: &Visit, status: StatusCode, page: &impl Html) -> Answer {
    match status {
        StatusCode::OK => answer::page(visit, page),
        status => Ok(answer::html(status, page)),
    }
}
