//! Why someone could not sign in through the provider: for the log with every detail, for the page without any text of
//! the provider's.

/// What an ID token is refused for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenFault {
    /// It is no token, or signed in a way that proves nothing, or not at all.
    #[error("its signature algorithm is not allowed")]
    Algorithm,
    /// None of the provider's keys made it.
    #[error("none of the provider's keys signed it")]
    Key,
    /// A key should have made it and has not.
    #[error("its signature is invalid")]
    Signature,
    /// Another provider made it.
    #[error("another issuer issued it")]
    Issuer,
    /// It is for someone else.
    #[error("it is for another client")]
    Audience,
    /// It is from another sign-in.
    #[error("it belongs to another sign-in")]
    Nonce,
    /// It is no longer, or not yet, good.
    #[error("it is expired or not valid yet")]
    Time,
    /// Something that every ID token says is missing.
    #[error("it is incomplete")]
    Incomplete,
}

/// Why someone could not sign in through the provider.
#[derive(Clone, Debug, thiserror::Error)]
pub enum OidcError {
    /// The provider does not answer.
    #[error("cannot reach the provider's {what}: {reason}")]
    Unreachable {
        /// What was asked of the provider.
        what: &'static str,
        /// Why.
        reason: String,
    },
    /// The provider answers with something else.
    #[error("the provider's {what} returned status {status}")]
    Status {
        /// What was asked of the provider.
        what: &'static str,
        /// What it answered.
        status: u16,
    },
    /// The provider's answer is not what it should be.
    #[error("cannot read the provider's {what}")]
    Unreadable {
        /// What was asked of the provider.
        what: &'static str,
    },
    /// The provider says it is another one.
    #[error("the provider's issuer is {said:?}, which differs from --oidc-issuer")]
    OtherIssuer {
        /// The issuer it named.
        said: String,
    },
    /// An address of the provider would be asked where others can listen.
    #[error("the provider's {what} is not at an https:// address")]
    InsecureAddress {
        /// What was asked of the provider.
        what: &'static str,
    },
    /// The client's secret cannot be read.
    #[error("{0}")]
    Secret(String),
    /// The provider does not know this server.
    #[error("the provider refuses this server's client id or secret ({code})")]
    Client {
        /// Its own word for it.
        code: String,
    },
    /// No sign-in is under way in this browser, or it took too long.
    #[error("no sign-in is under way in this browser")]
    NotUnderWay,
    /// The answer belongs to another sign-in.
    #[error("the response belongs to another sign-in")]
    State,
    /// The answer comes from another provider.
    #[error("the response comes from another provider")]
    AnswerIssuer,
    /// The person, or the provider, said no.
    #[error("the provider refused the sign-in ({code})")]
    Denied {
        /// Its own word for it.
        code: String,
    },
    /// The code is not good, or no longer.
    #[error("the provider rejects the code ({code})")]
    Code {
        /// Its own word for it.
        code: String,
    },
    /// The ID token proves nothing.
    #[error("the ID token is invalid: {0}")]
    Token(#[from] TokenFault),
    /// The ID token does not say who someone is.
    #[error("the ID token has no usable `{claim}`")]
    Nobody {
        /// Which claim is missing.
        claim: &'static str,
    },
    /// The groups are not a list of names, or too many.
    #[error("the groups in the ID token cannot be used: {reason}")]
    Groups {
        /// Why.
        reason: &'static str,
    },
}

/// Whose fault it is, as far as the person in front of the browser is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Theirs, or whatever they sent: asking again in the same way does not help.
    Person,
    /// The provider's, or the server's settings for it.
    Provider,
}

/// What a page says.
pub struct UserFacingError {
    /// Whose fault it is.
    pub fault: Fault,
    /// The word for it that programs look at.
    pub code: &'static str,
    /// What happened.
    pub message: &'static str,
    /// What to do about it.
    pub help: &'static str,
}

const ADMIN: &str = "contact an administrator: see the server's log";

const AGAIN: &str = "start again from this page";

impl OidcError {
    /// The same for the person in front of the browser.
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
            OidcError::NotUnderWay => (
                Fault::Person,
                "sso-not-under-way",
                "no sign-in is under way in this browser, or it took longer than ten minutes",
                "start again from this page; if cookies are off, allow them for this site",
            ),
            OidcError::State | OidcError::AnswerIssuer => {
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
            OidcError::Nobody { claim: "email" } => (
                Fault::Person,
                "sso-no-email",
                "the provider does not send your e-mail address",
                "add an address there, and release the scope `email` to Windlass",
            ),
            OidcError::Nobody { .. } => {
                (Fault::Person, "sso-nobody", "the provider does not send your identity", ADMIN)
            }
            OidcError::Groups { .. } => {
                (Fault::Person, "sso-groups", "the provider sends your groups in an unusable form", ADMIN)
            }
        };
        UserFacingError { fault, code, message, help }
    }
}

/// An error code of the provider's for the log: a short word, whatever was sent.
pub(crate) fn code_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    text.chars().filter(|c| is_plain(*c)).take(60).collect()
}
