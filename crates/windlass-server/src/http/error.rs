//! Maps refusals to HTTP responses.

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use windlass_api::types::{ErrorBody, ErrorEnvelope};
use windlass_control::refusal::{AuditRecording, Refusal, RefusalKind};
use windlass_oidc::error::{Fault, OidcError};

use crate::auth::error::LoginError;
use crate::auth::identity::AuthError;
use crate::auth::sso::SsoError;
use crate::limits::stream_slots::TooManyStreams;

/// A refusal as a response.
#[derive(Debug)]
pub(crate) struct HttpError(pub(crate) Refusal);

impl<E: Into<Refusal>> From<E> for HttpError {
    fn from(error: E) -> HttpError {
        HttpError(error.into())
    }
}

/// The HTTP status of a refusal.
pub(crate) fn status_of(refusal: &Refusal) -> StatusCode {
    match refusal.kind() {
        RefusalKind::BadRequest => StatusCode::BAD_REQUEST,
        RefusalKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        RefusalKind::Forbidden => StatusCode::FORBIDDEN,
        RefusalKind::NotFound => StatusCode::NOT_FOUND,
        RefusalKind::WrongMethod => StatusCode::METHOD_NOT_ALLOWED,
        RefusalKind::TooSlow => StatusCode::REQUEST_TIMEOUT,
        RefusalKind::Conflict => StatusCode::CONFLICT,
        RefusalKind::ChangedMeanwhile => StatusCode::PRECONDITION_FAILED,
        RefusalKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        RefusalKind::Invalid => StatusCode::UNPROCESSABLE_ENTITY,
        RefusalKind::TooMany => StatusCode::TOO_MANY_REQUESTS,
        RefusalKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        RefusalKind::Upstream => StatusCode::BAD_GATEWAY,
        RefusalKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let status = status_of(&self.0);
        let mut response = status.into_response();
        if status == StatusCode::UNAUTHORIZED {
            response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(value) =
            self.0.retry_after().and_then(|seconds| HeaderValue::from_str(&seconds.to_string()).ok())
        {
            response.headers_mut().insert(header::RETRY_AFTER, value);
        }
        let record = self.0.record();
        response.extensions_mut().insert(ErrorResponse { error: self.0.into_body(), record });
        response
    }
}

/// The error of a response, from which [`render_error`] makes the body.
#[derive(Clone, Debug)]
pub(crate) struct ErrorResponse {
    pub(crate) error: ErrorBody,
    pub(crate) record: AuditRecording,
}

/// Renders an error response in the format of all errors, with the id of its request. An error response of a library, which
/// has no [`ErrorResponse`], gets the default error for its status.
pub(crate) fn render_error(mut response: Response, request_id: &str) -> Response {
    let status = response.status();
    let own = response.extensions_mut().remove::<ErrorResponse>();
    if !status.is_client_error() && !status.is_server_error() {
        return response;
    }
    let mut error = own.map_or_else(|| default_error(status), |own| own.error);
    error.request_id = request_id.to_owned();
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.remove(header::CONTENT_TYPE);
    let mut rendered = Json(ErrorEnvelope { error }).into_response();
    *rendered.status_mut() = status;
    rendered.headers_mut().extend(parts.headers);
    *rendered.extensions_mut() = parts.extensions;
    rendered
}

/// The error for a response that has none of its own.
pub(crate) fn default_error(status: StatusCode) -> ErrorBody {
    let (code, message, help) = match status {
        StatusCode::GATEWAY_TIMEOUT => ("timeout", "the request timed out", "try again"),
        _ if status.is_server_error() => {
            ("internal", "internal error", "see the server's log for this request")
        }
        _ => ("bad-request", "cannot read the request", "see /api/openapi.json"),
    };
    ErrorBody {
        code: code.to_owned(),
        message: message.to_owned(),
        help: help.to_owned(),
        details: Vec::new(),
        request_id: String::new(),
    }
}

impl From<AuthError> for Refusal {
    fn from(error: AuthError) -> Refusal {
        let unauthorized = |message: &str| {
            let help = "sign in with `windlass login`, or send an API token as Authorization: Bearer";
            Refusal::new(RefusalKind::Unauthenticated, "unauthorized", message, help)
        };
        match error {
            AuthError::Missing => unauthorized("this needs a token"),
            AuthError::Invalid => unauthorized("the token is not valid, has expired or was revoked"),
            AuthError::TooMany(wait) => {
                Refusal::too_many("too many invalid tokens", wait, "check the token, or sign in again")
            }
            AuthError::Store(error) => error.into(),
        }
    }
}

impl From<TooManyStreams> for Refusal {
    fn from(error: TooManyStreams) -> Refusal {
        let (message, help) = match error {
            TooManyStreams::OfPerson => {
                ("you have too many open event streams", "close some pages or scripts")
            }
            TooManyStreams::InAll => ("too many open event streams", "try again in a few minutes"),
        };
        Refusal::new(RefusalKind::TooMany, "too-many-streams", message, help)
    }
}

impl From<LoginError> for Refusal {
    fn from(error: LoginError) -> Refusal {
        match error {
            LoginError::Refused => {
                let message = "the e-mail address, the password or the account is wrong";
                Refusal::new(
                    RefusalKind::Unauthenticated,
                    "login-refused",
                    message,
                    "check them and try again",
                )
            }
            LoginError::RefusedHere => {
                let message = "the e-mail address, the password or the account is wrong";
                let help =
                    "sign in through single sign-on: passwords are for administrators of the installation";
                Refusal::new(RefusalKind::Unauthenticated, "login-refused", message, help)
            }
            LoginError::Throttled(wait) => Refusal::too_many(
                "too many failed sign-ins",
                wait,
                "wait, then try again; an admin can reset the password",
            ),
            LoginError::Busy => Refusal::busy("too many sign-ins right now"),
            LoginError::Store(error) => error.into(),
        }
    }
}

/// Why a sign-in through the provider failed, as the page shows it.
pub(crate) fn refusal_of_provider(error: &OidcError) -> Refusal {
    let shown = error.user_facing();
    let kind = match shown.fault {
        Fault::Person => RefusalKind::Forbidden,
        Fault::Provider => RefusalKind::Unavailable,
    };
    Refusal::new(kind, shown.code, shown.message, shown.help)
}

impl From<SsoError> for Refusal {
    fn from(error: SsoError) -> Refusal {
        let (code, message, help) = match error {
            SsoError::Email => (
                "sso-no-email",
                "the provider sends no usable e-mail address",
                "ask the provider's administrator to \
                    fix it",
            ),
            SsoError::Unverified => (
                "sso-unverified",
                "a user here has your e-mail address, and the provider has not verified that it is yours",
                "verify your address at the provider (`email_verified`), or ask an admin here",
            ),
            SsoError::Taken => (
                "sso-taken",
                "another single sign-on user here has your e-mail address",
                "ask an administrator of the installation",
            ),
            SsoError::Root => (
                "sso-root",
                "administrators of the installation sign in with their password",
                "sign in with the password, or use another address at the provider",
            ),
            SsoError::Disabled => {
                ("sso-disabled", "your sign-in is disabled", "ask an admin of your account")
            }
            SsoError::NoRole => (
                "sso-no-role",
                "none of your groups grants a role here",
                "ask an administrator: the server's log names your groups",
            ),
            SsoError::Store(error) => return error.into(),
        };
        Refusal::new(RefusalKind::Forbidden, code, message, help)
    }
}
