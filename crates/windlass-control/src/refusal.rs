//! Why a request is rejected or fails: one type for REST, pages and tools. It is independent of HTTP; `http/error.rs`
//! in windlass-server makes a response of it.

use std::time::Duration;

use windlass_api::agent::{AGENT_REVOKED, ENROLMENT_REFUSED, JOIN_PENDING};
use windlass_api::types::{ErrorBody, ErrorDetail};
use windlass_core::diagnostic::Diagnostic;
use windlass_core::run::RunError;
use windlass_store::StoreError;

use crate::agents::authority::AuthorityError;
use crate::failure::{INTERNAL, QUARANTINED};
use crate::limits::fair_permits::NoPermit;

/// A request that was rejected or failed.
#[derive(Debug)]
pub struct Refusal {
    kind: RefusalKind,
    body: Box<ErrorBody>,
    retry_after: Option<u64>,
    record: AuditRecording,
}

/// The kind of a refusal. Each has one HTTP status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalKind {
    /// The request cannot be read.
    BadRequest,
    /// The caller is not authenticated.
    Unauthenticated,
    /// The caller may not do this.
    Forbidden,
    /// There is no such thing, or it is in another account.
    NotFound,
    /// The path exists, but does not support the method.
    WrongMethod,
    /// The client took too long to send the request.
    TooSlow,
    /// The request conflicts with the current state.
    Conflict,
    /// Someone else changed the object since the version that the request names.
    ChangedMeanwhile,
    /// The request is too large.
    TooLarge,
    /// The request can be read, but is not valid.
    Invalid,
    /// There were too many requests; the client may retry later.
    TooMany,
    /// Windlass itself failed.
    Internal,
    /// Another server failed.
    Upstream,
    /// The server cannot do it at the moment.
    Unavailable,
}

/// Whether the refusal of a change is in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuditRecording {
    /// Not yet.
    Required,
    /// The code that rejected it has recorded it, with more detail than the HTTP guard would.
    Done,
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
        Refusal { kind, body: Box::new(body), retry_after: None, record: AuditRecording::Required }
    }

    /// The same answer whether something is absent or in another account.
    pub fn not_found() -> Refusal {
        Refusal::new(RefusalKind::NotFound, "not-found", "not found", "check the id or name")
    }

    /// The request cannot be read.
    pub fn bad_request(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::BadRequest, "bad-request", message, help)
    }

    /// The request can be read, but is not valid.
    pub fn unprocessable(code: &str, message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Invalid, code, message, help)
    }

    /// The request conflicts with the current state.
    pub fn conflict(code: &str, message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Conflict, code, message, help)
    }

    /// The caller may not do this.
    pub fn forbidden(message: impl Into<String>, help: impl Into<String>) -> Refusal {
        Refusal::new(RefusalKind::Forbidden, "forbidden", message, help)
    }

    /// The client may retry after a wait.
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

    /// Someone else changed the object since the version that the caller named.
    pub(crate) fn changed_meanwhile() -> Refusal {
        let help = "reload it and try again";
        Refusal::new(
            RefusalKind::ChangedMeanwhile,
            "changed-meanwhile",
            "someone else changed it meanwhile",
            help,
        )
    }

    /// The agent was revoked.
    pub fn agent_revoked() -> Refusal {
        let help = "enrol the host again, with a new token";
        Refusal::new(RefusalKind::Forbidden, AGENT_REVOKED, "this agent was revoked", help)
    }

    /// The same answer for every reason why an agent may not enrol.
    pub(crate) fn enrolment_refused() -> Refusal {
        let help =
            "create a token with `windlass node enroll`; the account's events say why this one was refused";
        let message = "the token is not valid for this host";
        Refusal::new(RefusalKind::Forbidden, ENROLMENT_REFUSED, message, help)
    }

    /// A person has to approve that a node joins.
    pub(crate) fn join_pending(retry_after: Duration) -> Refusal {
        let help = "approve it with `windlass node join approve`; the agent tries again by itself";
        let error = Refusal::conflict(JOIN_PENDING, "a person has to approve that this host joins", help);
        Refusal { retry_after: Some(retry_after.as_secs()), ..error }
    }

    /// The server has too much to do at the moment.
    pub fn busy(message: &str) -> Refusal {
        let error = Refusal::new(RefusalKind::TooMany, "busy", message, "try again in a few seconds");
        Refusal { retry_after: Some(5), ..error }
    }

    /// The same refusal, with how long the client shall wait before it tries again.
    pub(crate) fn after_seconds(self, seconds: u64) -> Refusal {
        Refusal { retry_after: Some(seconds), ..self }
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

    /// Marks the refusal as recorded in the audit log.
    pub(crate) fn mark_recorded(self) -> Refusal {
        Refusal { record: AuditRecording::Done, ..self }
    }

    /// The kind of the refusal.
    pub fn kind(&self) -> RefusalKind {
        self.kind
    }

    /// The error code, for programs.
    pub fn code(&self) -> &str {
        &self.body.code
    }

    /// After how many seconds the client may retry.
    pub fn retry_after(&self) -> Option<u64> {
        self.retry_after
    }

    /// Whether it is in the audit log already.
    pub fn record(&self) -> AuditRecording {
        self.record
    }

    /// The error alone, for one item of a batch.
    pub fn into_body(self) -> ErrorBody {
        *self.body
    }
}

impl From<AuthorityError> for Refusal {
    fn from(error: AuthorityError) -> Refusal {
        tracing::error!(%error, "the authority of agents failed");
        Refusal::new(
            RefusalKind::Internal,
            INTERNAL,
            "a certificate could not be issued",
            "see the server's log",
        )
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
            // The caller cannot fix it, and it is not known how much of the work was done.
            INTERNAL => Refusal::new(RefusalKind::Internal, INTERNAL, error.message, error.help),
            code => Refusal::unprocessable(code, error.message, error.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_internal_error_and_a_quarantine_is_a_conflict() {
        let kind = |code: &str| {
            let error = RunError { code: code.to_owned(), message: String::new(), help: String::new() };
            Refusal::from(error).kind()
        };
        assert_eq!(kind(INTERNAL), RefusalKind::Internal);
        assert_eq!(kind(QUARANTINED), RefusalKind::Conflict);
        assert_eq!(kind("fleet-missing"), RefusalKind::Invalid);
    }
}
