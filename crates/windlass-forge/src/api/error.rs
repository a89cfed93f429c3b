//! What can go wrong with a forge, each by its own name. What the forge said is repeated only where it says what was
//! wrong with a request, cut short and without the token.

use std::time::Duration;

use windlass_outbound::ResolveError;

/// Why a forge did not do what was asked. Never holds the token.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ForgeError {
    /// What should vouch for the forge is no certificate, or there is no TLS on this machine.
    #[error("cannot prepare a connection: {reason}")]
    Client {
        /// Why not.
        reason: String,
    },
    /// The token cannot be one.
    #[error("the token contains invalid characters")]
    TokenShape,
    /// Its host has an address that this server does not connect to, or none at all.
    #[error(transparent)]
    AddressRefused(ResolveError),
    /// Nobody answers, or not in time, or nobody who speaks TLS.
    #[error("could not reach {address}")]
    Unreachable {
        /// Where.
        address: String,
    },
    /// Its certificate is not trusted, or it speaks no TLS.
    #[error("the certificate of {address} is not trusted: {reason}")]
    Tls {
        /// Where.
        address: String,
        /// Why not.
        reason: String,
    },
    /// 401.
    #[error("{address} does not accept the token: it is wrong, has expired or was revoked")]
    Token {
        /// Where.
        address: String,
    },
    /// 403.
    #[error("the token may not {doing}{}", reason_suffix(.reason))]
    Forbidden {
        /// What was tried.
        doing: String,
        /// What the forge said, if anything.
        reason: String,
    },
    /// 404.
    #[error("cannot {doing}: it does not exist, or the token may not read it")]
    Missing {
        /// What was tried.
        doing: String,
    },
    /// 409 while making something.
    #[error("cannot {doing}: it already exists")]
    Exists {
        /// What was tried.
        doing: String,
    },
    /// 400 and 422.
    #[error("cannot {doing}: it was refused{}", reason_suffix(.reason))]
    Refused {
        /// What was tried.
        doing: String,
        /// What the forge said, if anything.
        reason: String,
    },
    /// 429, and what forges answer instead of it.
    #[error("{address} limits requests")]
    Busy {
        /// Where.
        address: String,
        /// How long it wants to be left alone.
        retry_after: Option<Duration>,
    },
    /// It sends us elsewhere, where the token is nobody's business.
    #[error("{address} redirects to {to}, where the token may not be sent")]
    Redirected {
        /// Where.
        address: String,
        /// Where to.
        to: String,
    },
    /// It failed itself, or answers what is not understood.
    #[error("{address} returned status {status} on the request to {doing}")]
    Answer {
        /// Where.
        address: String,
        /// The HTTP status.
        status: u16,
        /// What was tried.
        doing: String,
    },
    /// The answer is no JSON, or not the JSON that was expected.
    #[error("cannot parse the response of {address}")]
    NotUnderstood {
        /// Where.
        address: String,
    },
    /// The answer is larger than any that is expected.
    #[error("the response of {address} is too large")]
    TooLarge {
        /// Where.
        address: String,
    },
    /// Nobody can make a repository there with this token.
    #[error(
        "the organisation {owner} does not exist, and the token may not create repositories for other users"
    )]
    NoOwner {
        /// For whom.
        owner: String,
    },
}

fn reason_suffix(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryability {
    /// It can: the network or the forge may be well again.
    Transient,
    /// Someone has to change something first.
    Permanent,
}

impl ForgeError {
    /// A stable word for scripts.
    pub fn code(&self) -> &'static str {
        match self {
            ForgeError::Client { .. } => "forge-client",
            ForgeError::TokenShape | ForgeError::Token { .. } => "forge-token",
            ForgeError::AddressRefused(refusal) => refusal.code(),
            ForgeError::Unreachable { .. } => "forge-unreachable",
            ForgeError::Tls { .. } => "forge-tls",
            ForgeError::Forbidden { .. } => "forge-forbidden",
            ForgeError::Missing { .. } => "forge-missing",
            ForgeError::Exists { .. } => "forge-exists",
            ForgeError::Refused { .. } => "forge-refused",
            ForgeError::Busy { .. } => "forge-busy",
            ForgeError::Redirected { .. } => "forge-redirected",
            ForgeError::Answer { .. } | ForgeError::NotUnderstood { .. } | ForgeError::TooLarge { .. } => {
                "forge-answer"
            }
            ForgeError::NoOwner { .. } => "forge-owner",
        }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self {
            ForgeError::Client { .. } => "check the certificate authority and the system's certificates",
            ForgeError::TokenShape => "store the token alone, without spaces and line breaks",
            ForgeError::AddressRefused(refusal) => refusal.help(),
            ForgeError::Unreachable { .. } => {
                "check the address of its API and firewalls; Windlass retries; see the server's log for the cause"
            }
            ForgeError::Tls { .. } => "set the certificate's authority as the repository's ca_pem",
            ForgeError::Token { .. } => "create a new token there and store it in place of the old one",
            ForgeError::Forbidden { .. } => {
                "give the token's user write access to the repository, and the token the scopes that docs/guide/forges.md lists"
            }
            ForgeError::Missing { .. } => {
                "check owner and name of the repository, and that the token's user can see it"
            }
            ForgeError::Exists { .. } => "use the existing one, or choose another name",
            ForgeError::Refused { .. } => "fix what the forge reports",
            ForgeError::Busy { .. } => "wait; Windlass retries",
            ForgeError::Redirected { .. } => "use the new address, if you trust it",
            ForgeError::Answer { .. } | ForgeError::NotUnderstood { .. } | ForgeError::TooLarge { .. } => {
                "check the API address and the kind of forge, and the forge's log"
            }
            ForgeError::NoOwner { .. } => {
                "check the name, create the organisation first, or use an administrator's token"
            }
        }
    }

    /// Whether trying again can help.
    pub fn retryability(&self) -> Retryability {
        match self {
            ForgeError::AddressRefused(ResolveError::NotFound { .. })
            | ForgeError::Unreachable { .. }
            | ForgeError::Tls { .. }
            | ForgeError::Busy { .. }
            | ForgeError::Answer { .. }
            | ForgeError::NotUnderstood { .. }
            | ForgeError::TooLarge { .. } => Retryability::Transient,
            ForgeError::AddressRefused(ResolveError::Refused { .. })
            | ForgeError::Client { .. }
            | ForgeError::TokenShape
            | ForgeError::Token { .. }
            | ForgeError::Forbidden { .. }
            | ForgeError::Missing { .. }
            | ForgeError::Exists { .. }
            | ForgeError::Refused { .. }
            | ForgeError::Redirected { .. }
            | ForgeError::NoOwner { .. } => Retryability::Permanent,
        }
    }

    /// How long the forge wants to be left alone.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ForgeError::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
