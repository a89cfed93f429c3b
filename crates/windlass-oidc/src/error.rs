//! Errors of signing in through the provider. The log gets every detail; the page shows no text of the provider.

/// Why an ID token was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is not a token, it is unsigned, or its algorithm is not allowed.
    #[error("its signature algorithm is not allowed")]
    Algorithm,
    /// It names a key that the provider does not list.
    #[error("none of the provider's keys signed it")]
    Key,
    /// The signature is not valid.
    #[error("its signature is invalid")]
    Signature,
    /// Its issuer is another one.
    #[error("another issuer issued it")]
    Issuer,
    /// Its audience is another client.
    #[error("it is for another client")]
    Audience,
    /// Its nonce belongs to another sign-in.
    #[error("it belongs to another sign-in")]
    Nonce,
    /// It has expired, or is not valid yet.
    #[error("it is expired or not valid yet")]
    Time,
    /// A required claim is missing.
    #[error("it is incomplete")]
    Incomplete,
}

/// Why someone could not sign in through the provider.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OidcError {
    /// The provider does not answer.
    #[error("cannot reach the provider's {what}: {reason}")]
    Unreachable {
        /// The request.
        what: &'static str,
        /// The reason.
        reason: String,
    },
    /// The provider answered with an unexpected status.
    #[error("the provider's {what} returned status {status}")]
    Status {
        /// The request.
        what: &'static str,
        /// The status.
        status: u16,
    },
    /// The provider's response is not what the standard says.
    #[error("cannot read the provider's {what}")]
    Unreadable {
        /// The request.
        what: &'static str,
    },
    /// The discovery document names another issuer.
    #[error("the provider's issuer is {said:?}, which differs from --oidc-issuer")]
    OtherIssuer {
        /// The issuer it names.
        said: String,
    },
    /// A URL in the discovery document is not https.
    #[error("the provider's {what} is not at an https:// address")]
    InsecureAddress {
        /// The request.
        what: &'static str,
    },
    /// The client secret cannot be read.
    #[error("{0}")]
    Secret(String),
    /// The provider rejects this server's client id or secret.
    #[error("the provider refuses this server's client id or secret ({code})")]
    Client {
        /// The error code of the provider.
        code: String,
    },
    /// This browser has no sign-in in progress, or the sign-in has expired.
    #[error("no sign-in is under way in this browser")]
    NoAttempt,
    /// The callback belongs to another sign-in.
    #[error("the response belongs to another sign-in")]
    State,
    /// The callback comes from another provider.
    #[error("the response comes from another provider")]
    CallbackIssuer,
    /// The person or the provider denied the sign-in.
    #[error("the provider refused the sign-in ({code})")]
    Denied {
        /// The error code of the provider.
        code: String,
    },
    /// The authorization code is wrong or expired.
    #[error("the provider rejects the code ({code})")]
    Code {
        /// The error code of the provider.
        code: String,
    },
    /// The ID token was rejected.
    #[error("the ID token is invalid: {0}")]
    Token(#[from] TokenFault),
    /// The ID token lacks a claim that identifies the person.
    #[error("the ID token has no usable `{claim}`")]
    MissingClaim {
        /// Which claim is missing.
        claim: &'static str,
    },
    /// The groups are not a list of names, or too many.
    #[error("the groups in the ID token cannot be used: {reason}")]
    Groups {
        /// The reason.
        reason: &'static str,
    },
}

/// Who can fix the error, seen from the person who signs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The person, or the request they sent: the same request fails again.
    Person,
    /// The provider, or the server's settings for it.
    Provider,
}

/// An error as a page shows it.
pub struct UserFacingError {
    /// Who can fix it.
    pub fault: Fault,
    /// The code for programs.
    pub code: &'static str,
    /// What happened.
    pub message: &'static str,
    /// How to fix it.
    pub help: &'static str,
}

const ADMIN: &str = "contact an administrator: see the server's log";

const AGAIN: &str = "start again from this page";

impl OidcError {
    /// The error as a page shows it.
    pub fn user_facing(&self) -> UserFacingError {
        let (fault, code, message, help) = match self {
            OidcError::Unreachable { .. } | OidcError::Status { .. } => (
                Fault::Provider,
                "sso-unavailable",
                "the single sign-on provider does not respond",
                "try again in a minute; meanwhile, users with a password can sign in with it",
            ),
            OidcError::Unreadable { .. }
            | OidcError::OtherIssuer { .. }
            | OidcError::InsecureAddress { .. } => (
                Fault::Provider,
                "sso-misconfigured",
                "the single sign-on provider sent an invalid response",
                ADMIN,
            ),
            OidcError::Secret(_) | OidcError::Client { .. } => (
                Fault::Provider,
                "sso-misconfigured",
                "the single sign-on provider does not accept this server's client id or secret",
                ADMIN,
            ),
            OidcError::NoAttempt => (
                Fault::Person,
                "sso-not-under-way",
                "no sign-in is under way in this browser, or it took longer than ten minutes",
                "start again from this page; if cookies are off, allow them for this site",
            ),
            OidcError::State | OidcError::CallbackIssuer => {
                (Fault::Person, "sso-foreign-answer", "the response belongs to another sign-in", AGAIN)
            }
            OidcError::Denied { .. } => (
                Fault::Person,
                "sso-denied",
                "the provider refused the sign-in",
                "ask the provider's administrator",
            ),
            OidcError::Code { .. } => {
                (Fault::Person, "sso-code", "the provider no longer accepts this sign-in", AGAIN)
            }
            OidcError::Token(_) => (Fault::Person, "sso-token", "the provider's ID token is invalid", ADMIN),
            OidcError::MissingClaim { claim: "email" } => (
                Fault::Person,
                "sso-no-email",
                "the provider does not send your e-mail address",
                "add an address there, and release the scope `email` to Windlass",
            ),
            OidcError::MissingClaim { .. } => {
                (Fault::Person, "sso-nobody", "the provider does not send your identity", ADMIN)
            }
            OidcError::Groups { .. } => {
                (Fault::Person, "sso-groups", "the provider sends your groups in an unusable form", ADMIN)
            }
        };
        UserFacingError { fault, code, message, help }
    }
}

/// An error code of the provider for the log: sanitised, and cut to a short word.
pub(crate) fn error_code_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.chars().filter(|c| is_plain(*c)).take(60).collect()
}
