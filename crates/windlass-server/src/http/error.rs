//! The one place that maps errors to HTTP.

use std::time::Duration;

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use windlass_api::types::{ErrorBody, ErrorDetail, ErrorEnvelope};
use windlass_core::diagnostic::Diagnostic;
use windlass_store::{RunError, StoreError};

use crate::auth::{AuthError, LoginError, SsoError};
use crate::decide::DecisionError;
use crate::fair_turns::Busy;
use crate::oidc::OidcError;
use crate::quarantine::QUARANTINED;
use crate::sync::INTERNAL;

/// An answer that is not a success.
#[derive(Debug)]
pub(crate) struct HttpError {
    status: StatusCode,
    body: Box<ErrorBody>,
    retry_after: Option<u64>,
    record: Record,
}

/// Whether the refusal of a change is in the audit log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Record {
    /// Not yet.
    Due,
    /// Whoever refused it has entered it, with more to say than the guard.
    Made,
}

impl HttpError {
    pub(crate) fn new(
        status: StatusCode,
        code: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> HttpError {
        let body = ErrorBody {
            code: code.to_owned(),
            message: message.into(),
            help: help.into(),
            details: Vec::new(),
            request_id: String::new(),
        };
        HttpError { status, body: Box::new(body), retry_after: None, record: Record::Due }
    }

    /// The same answer whether something is absent or in another account.
    pub(crate) fn not_found() -> HttpError {
        HttpError::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "there is no such thing here",
            "check the id or name",
        )
    }

    pub(crate) fn bad_request(message: impl Into<String>, help: impl Into<String>) -> HttpError {
        HttpError::new(StatusCode::BAD_REQUEST, "bad-request", message, help)
    }

    pub(crate) fn unprocessable(
        code: &str,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> HttpError {
        HttpError::new(StatusCode::UNPROCESSABLE_ENTITY, code, message, help)
    }

    pub(crate) fn conflict(code: &str, message: impl Into<String>, help: impl Into<String>) -> HttpError {
        HttpError::new(StatusCode::CONFLICT, code, message, help)
    }

    pub(crate) fn forbidden(message: impl Into<String>, help: impl Into<String>) -> HttpError {
        HttpError::new(StatusCode::FORBIDDEN, "forbidden", message, help)
    }

    /// The same may be asked again after a while.
    pub(crate) fn too_many(message: &str, wait: Duration, help: &str) -> HttpError {
        let seconds = wait.as_secs() + 1;
        let message = format!("{message}; wait {seconds} s");
        let status = StatusCode::TOO_MANY_REQUESTS;
        let error = HttpError::new(status, "throttled", message, help);
        HttpError { retry_after: Some(seconds), ..error }
    }

    /// The same request, with the same idempotency key, is being carried out.
    pub(crate) fn under_way() -> HttpError {
        let help = "wait for its answer, or use another key";
        HttpError::conflict("idempotency-under-way", "a request with this key is under way", help)
    }

    /// Someone else changed it since the version the caller named.
    pub(crate) fn precondition() -> HttpError {
        let help = "read it again and decide anew";
        HttpError::new(StatusCode::PRECONDITION_FAILED, "changed-meanwhile", "it was changed meanwhile", help)
    }

    /// There is too much to do at the moment.
    pub(crate) fn busy(message: &str) -> HttpError {
        let error =
            HttpError::new(StatusCode::TOO_MANY_REQUESTS, "busy", message, "try again in a few seconds");
        HttpError { retry_after: Some(5), ..error }
    }

    /// Problems with a resource or a document, each with its place.
    pub(crate) fn unsound(diagnostics: &[Diagnostic]) -> HttpError {
        let first = diagnostics.first().map_or("it is not sound", |problem| problem.message.as_str());
        let more = if diagnostics.len() > 1 {
            format!(" (and {} more)", diagnostics.len() - 1)
        } else {
            String::new()
        };
        let mut error = HttpError::unprocessable("invalid", format!("{first}{more}"), "");
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

    pub(crate) fn refusal(&self) -> (StatusCode, &str) {
        (self.status, &self.body.code)
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The error alone, for one item of a batch.
    pub(crate) fn into_body(self) -> ErrorBody {
        *self.body
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let mut response = self.status.into_response();
        if self.status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(value) =
            self.retry_after.and_then(|seconds| HeaderValue::from_str(&seconds.to_string()).ok())
        {
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        response.extensions_mut().insert(Told { error: *self.body, record: self.record });
        response
    }
}

/// What an answer says went wrong, until [`worded`] makes its body of it.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub(crate) error: ErrorBody,
    pub(crate) record: Record,
}

/// The answer in the one shape that errors have, with the id of its request. An answer that came from below, and says
/// nothing or something else, gets a body that does.
pub(crate) fn worded(mut response: Response, request_id: &str) -> Response {
    let status = response.status();
    let told = response.extensions_mut().remove::<Told>();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let mut error = told.map_or_else(|| unspoken(status), |told| told.error);
    error.request_id = request_id.to_owned();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::CONTENT_TYPE);
    let mut worded = Json(ErrorEnvelope { error }).into_response();
    *worded.status_mut() = status;
    worded.headers_mut().extend(parts.headers);
    *worded.extensions_mut() = parts.extensions;
    worded
}

/// What to say for an answer that says nothing itself.
pub(crate) fn unspoken(status: StatusCode) -> ErrorBody {
    let (code, message, help) = match status {
        StatusCode::GATEWAY_TIMEOUT => ("timeout", "it took too long", "try again"),
        _ if status.is_server_error() => {
            ("internal", "Windlass itself failed", "see the server's log for this request")
        }
        _ => ("bad-request", "the request cannot be read", "see /api/openapi.json"),
    };
    HttpError::new(status, code, message, help).into_body()
}

impl From<StoreError> for HttpError {
    fn from(error: StoreError) -> HttpError {
        match &error {
            StoreError::Taken(_) => {
                HttpError::conflict("taken", "the name is taken, or something still needs it", "")
            }
            StoreError::NoAccount { .. } => HttpError::not_found(),
            StoreError::Repeated => HttpError::under_way(),
            StoreError::DiskFull(_) | StoreError::ReadOnly(_) => {
                tracing::error!(%error, "the database cannot be written");
                let status = StatusCode::SERVICE_UNAVAILABLE;
                HttpError::new(
                    status,
                    "database-unwritable",
                    error.to_string(),
                    "nothing was changed; try again later",
                )
            }
            StoreError::Busy(_) | StoreError::LeaseLost { .. } => {
                HttpError::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "others are writing", "try again")
            }
            _ => {
                tracing::error!(%error, "the database failed");
                let help = "see the server's log for this request";
                HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Windlass itself failed", help)
            }
        }
    }
}

impl From<AuthError> for HttpError {
    fn from(error: AuthError) -> HttpError {
        let unauthorized = |message: &str| {
            let help = "sign in with `windlass login`, or send an API token as Authorization: Bearer";
            HttpError::new(StatusCode::UNAUTHORIZED, "unauthorized", message, help)
        };
        match error {
            AuthError::Missing => unauthorized("this needs a token"),
            AuthError::Invalid => unauthorized("the token is not valid, has expired or was revoked"),
            AuthError::TooMany(wait) => HttpError::too_many(
                "too many tokens that are not valid",
                wait,
                "check the token, or sign in again",
            ),
            AuthError::Store(error) => error.into(),
        }
    }
}

impl From<LoginError> for HttpError {
    fn from(error: LoginError) -> HttpError {
        match error {
            LoginError::Refused => {
                let message = "the e-mail address, the password or the account is wrong";
                HttpError::new(StatusCode::UNAUTHORIZED, "login-refused", message, "check them and try again")
            }
            LoginError::RefusedHere => {
                let message = "the e-mail address, the password or the account is wrong";
                let help =
                    "sign in through single sign-on: passwords are for administrators of the installation";
                HttpError::new(StatusCode::UNAUTHORIZED, "login-refused", message, help)
            }
            LoginError::Throttled(wait) => HttpError::too_many(
                "too many failed sign-ins",
                wait,
                "wait, then try again; an admin can reset the password",
            ),
            LoginError::Busy => HttpError::busy("too many people sign in at this moment"),
            LoginError::Store(error) => error.into(),
        }
    }
}

impl From<OidcError> for HttpError {
    fn from(error: OidcError) -> HttpError {
        let told = error.told();
        HttpError::new(told.status, told.code, told.message, told.help)
    }
}

impl From<SsoError> for HttpError {
    fn from(error: SsoError) -> HttpError {
        let (code, message, help) = match error {
            SsoError::Email => {
                ("sso-no-email", "the provider tells no usable e-mail address", "have it mended there")
            }
            SsoError::Unverified => (
                "sso-unverified",
                "someone here has your e-mail address, and the provider does not say that it is yours",
                "have your address verified there (`email_verified`), or ask an admin here",
            ),
            SsoError::Taken => (
                "sso-taken",
                "someone else who signs in this way has your e-mail address here",
                "ask an administrator of the installation",
            ),
            SsoError::Root => (
                "sso-root",
                "administrators of the installation sign in with their password",
                "sign in with it, or have another address entered at the provider",
            ),
            SsoError::Disabled => ("sso-disabled", "you may not sign in", "ask an admin of your account"),
            SsoError::NoRole => (
                "sso-no-role",
                "your groups give no role here",
                "ask an administrator: the server's log names your groups",
            ),
            SsoError::Store(error) => return error.into(),
        };
        HttpError::new(StatusCode::FORBIDDEN, code, message, help)
    }
}

impl From<DecisionError> for HttpError {
    fn from(error: DecisionError) -> HttpError {
        let recorded = |error: HttpError| HttpError { record: Record::Made, ..error };
        match error {
            DecisionError::NotFound => HttpError::not_found(),
            DecisionError::Closed(status) => {
                let message = format!("the proposal is {status}");
                let help = "only a proposal that waits for approval can be decided about";
                recorded(HttpError::conflict("not-open", message, help))
            }
            DecisionError::Moved { digest } => {
                let message = format!("the proposal is not what was reviewed: it would now apply {digest}");
                recorded(HttpError::conflict("moved", message, "review it again"))
            }
            DecisionError::ContentNotNamed { digest } => {
                let message = format!(
                    "someone typed what this proposal would apply, so that an approval has to name its content: it is {digest}"
                );
                let help = "look at it, and send this digest with the approval if it is what you want";
                recorded(HttpError::conflict("digest-needed", message, help))
            }
            DecisionError::SetMoved { digest } => {
                let now = match digest {
                    Some(digest) => format!("the whole plan is now {digest}"),
                    None => "there is nothing to approve any more".to_owned(),
                };
                let message = format!("the plan has no such set of changes: {now}");
                recorded(HttpError::conflict("moved", message, "review the repository's newest run"))
            }
            DecisionError::DestroysNotConfirmed(destroys) => {
                let message = format!("{destroys} changes of this set destroy something");
                let help = "if they are meant, approve the set with include_destroys";
                recorded(HttpError::unprocessable("destroys-not-confirmed", message, help))
            }
            DecisionError::NotAllowed(why) => {
                let help = "someone else has to decide";
                recorded(HttpError::new(StatusCode::FORBIDDEN, "not-allowed", why, help))
            }
            DecisionError::Outdated => HttpError::precondition(),
            DecisionError::Unsound(diagnostics) => HttpError::unsound(&diagnostics),
            DecisionError::Senseless(message) => HttpError::unprocessable("senseless", message, ""),
            DecisionError::Store(error) => error.into(),
        }
    }
}

impl From<Busy> for HttpError {
    fn from(busy: Busy) -> HttpError {
        HttpError::busy(&busy.to_string())
    }
}

impl From<RunError> for HttpError {
    fn from(error: RunError) -> HttpError {
        match error.code.as_str() {
            QUARANTINED => HttpError::conflict(QUARANTINED, error.message, error.help),
            // Nobody who asks can help it, and nobody knows how much of the work was done.
            INTERNAL => {
                HttpError::new(StatusCode::INTERNAL_SERVER_ERROR, INTERNAL, error.message, error.help)
            }
            code => HttpError::unprocessable(code, error.message, error.help),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_died_is_the_servers_fault_and_a_quarantine_is_a_conflict() {
        let status = |code: &str| {
            let error = RunError { code: code.to_owned(), message: String::new(), help: String::new() };
            HttpError::from(error).status()
        };
        assert_eq!(status(INTERNAL), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(status(QUARANTINED), StatusCode::CONFLICT);
        assert_eq!(status("fleet-missing"), StatusCode::UNPROCESSABLE_ENTITY);
    }
}
