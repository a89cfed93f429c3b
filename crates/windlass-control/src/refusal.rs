//! Why something that was asked for is not done: one type for every way to ask. It knows no HTTP; `http/error.rs` does.

use std::time::Duration;

use windlass_api::types::{ErrorBody, ErrorDetail};
use windlass_core::diagnostic::Diagnostic;
use windlass_core::run::RunError;
use windlass_store::StoreError;

use crate::failure::{INTERNAL, QUARANTINED};
use crate::limits::fair_permits::NoPermit;

/// Something that was asked for and is not done.
#[derive(Debug)]
pub struct Refusal {
    kind: RefusalKind,
    body: Box<ErrorBody>,
    retry_after: Option<u64>,
    record: AuditRecording,
}

/// What kind of refusal it is. Each has one status in HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request cannot be read.
    BadRequest,
    /// Nobody knows who asks.
    Unauthenticated,
    /// Whoever asks may not.
    Forbidden,
    /// There is no such thing, or it is in another account.
    NotFound,
    /// There is such a place, and this cannot be done there.
    WrongMethod,
    /// The request took too long to come.
    TooSlow,
    /// It does not fit what is there now.
    Conflict,
    /// Someone else changed it since the version that was named.
    ChangedMeanwhile,
    /// The request is too large.
    TooLarge,
    /// It can be read, and is not sound.
    Invalid,
    /// Too much was asked at once; the same may be asked again later.
    TooMany,
    /// Windlass itself failed.
    Internal,
    /// Another server failed.
    Upstream,
    /// It cannot be done at the moment.
    Unavailable,
}

/// Whether the refusal of a change is in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditRecording {
    /// Not yet.
    Due,
    /// Whoever refused it has entered it, with more to say than the guard.
    Made,
}

impl Refusal {
    /// A refusal of any kind.
    pub fn new(
        kind: RefusalKind,
        code: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Refusal {
        let body = ErrorBody {
            code: code.to_owned(),
            message: message.into(),
            help: help.into(),
            details: Vec::new(),
            request_id: String::new(),
        };
        Refusal { kind, body: Box::new(body), retry_after: None, record: AuditRecording::Due }
    }

    /// The same answer whether something is absent or in another account.
    pub fn not_found() -> Refusal {
        Refusal::new(RefusalKind::NotFound, "not-found", "not found", "check the id or name")
    }

    /// The request cannot be read.
    pub fn bad_request(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::BadRequest, "bad-request", message, help)
    }

    /// It can be read, and is not sound.
    pub fn unprocessable(code: &str, message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Invalid, code, message, help)
    }

    /// It does not fit what is there now.
    pub fn conflict(code: &str, message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Conflict, code, message, help)
    }

    /// Whoever asks may not.
    pub fn forbidden(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Forbidden, "forbidden", message, help)
    }

    /// The same may be asked again after a while.
    pub fn too_many(message: &str, wait: Duration, help: &str) -> Refusal {
        let seconds = wait.as_secs() + 1;
        let message = format!("{message}; wait {seconds} s");
        let status = RefusalKind::TooMany;
        let error = Refusal::new(status, "throttled", message, help);
        Refusal { retry_after: Some(seconds), ..error }
    }

    /// The same request, with the same idempotency key, is being carried out.
    pub fn already_in_progress() -> Refusal {
        let help = "wait for its response, or use another key";
        Refusal::conflict("idempotency-under-way", "a request with this key is in progress", help)
    }

    /// Someone else changed it since the version the caller named.
    pub(crate) fn precondition() -> Refusal {
        let help = "reload it and try again";
        Refusal::new(
            RefusalKind::ChangedMeanwhile,
            "changed-meanwhile",
            "someone else changed it meanwhile",
            help,
        )
    }

    /// There is too much to do at the moment.
    pub fn busy(message: &str) -> Refusal {
        let error = Refusal::new(RefusalKind::TooMany, "busy", message, "try again in a few seconds");
        Refusal { retry_after: Some(5), ..error }
    }

    /// Problems with a resource or a document, each with its place.
    pub fn invalid_resource(diagnostics: &[Diagnostic]) -> Refusal {
        let first = diagnostics.first().map_or("it is invalid", |problem| problem.message.as_str());
        let more = if diagnostics.len() > 1 {
            format!(" (and {} more)", diagnostics.len() - 1)
        } else {
            String::new()
        };
        let mut error = Refusal::unprocessable("invalid", format!("{first}{more}"), "");
        error.body.details = diagnostics
            .iter()
            .map(|problem| ErrorDetail {
                code: problem.code.slug().to_owned(),
                path: problem.path.clone(),
                message: problem.message.clone(),
                help: problem.help.clone().unwrap_or_default(),
            })
            .collect();
        if let [only] = diagnostics {
            error.body.help = only.help.clone().unwrap_or_default();
        }
        error
    }

    /// The same, of which an entry in the audit log tells already.
    pub(crate) fn on_record(self) -> Refusal {
        Refusal { record: AuditRecording::Made, ..self }
    }

    /// What kind of refusal it is.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// The word for it that programs look at.
    pub fn code(&self) -> &str {
        &self.body.code
    }

    /// After how many seconds the same may be asked again.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// Whether the audit log tells of it already.
    pub fn record(&self) -> AuditRecording {
        self.record
    }

    /// The error alone, for one item of a batch.
    pub fn into_body(self) -> ErrorBody {
        *self.body
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Refusal {
        match &error {
            StoreError::Taken(_) => {
                Refusal::conflict("taken", "the name is taken, or another resource still refers to it", "")
            }
            StoreError::NoAccount { .. } => Refusal::not_found(),
            StoreError::Repeated => Refusal::already_in_progress(),
            StoreError::DiskFull(_) | StoreError::ReadOnly(_) => {
                tracing::error!(%error, "the database cannot be written");
                let status = RefusalKind::Unavailable;
                Refusal::new(
                    status,
                    "database-unwritable",
                    error.to_string(),
                    "nothing was changed; try again later",
                )
            }
            StoreError::Busy(_) | StoreError::LeaseLost { .. } => {
                Refusal::new(RefusalKind::Unavailable, "busy", "the database is busy", "try again")
            }
            _ => {
                tracing::error!(%error, "the database failed");
                let help = "see the server's log for this request";
                Refusal::new(RefusalKind::Internal, "internal", "internal error", help)
            }
        }
    }
}

impl From<NoPermit> for Refusal {
    fn from(busy: NoPermit) -> Refusal {
        Refusal::busy(&busy.to_string())
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Refusal {
        match error.code.as_str() {
            QUARANTINED => Refusal::conflict(QUARANTINED, error.message, error.help),
            // Nobody who asks can help it, and nobody knows how much of the work was done.
            INTERNAL => Refusal::new(RefusalKind::Internal, INTERNAL, error.message, error.help),
            code => Refusal::unprocessable(code, error.message, error.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_died_is_the_servers_fault_and_a_quarantine_is_a_conflict() {
        let kind = |code: &str| {
            let error = RunError { code: code.to_owned(), message: String::new(), help: String::new() };
            Refusal::from(error).kind()
        };
        assert_eq!(kind(INTERNAL), RefusalKind::Internal);
        assert_eq!(kind(QUARANTINED), RefusalKind::Conflict);
        assert_eq!(kind("fleet-missing"), RefusalKind::Invalid);
    }
}
