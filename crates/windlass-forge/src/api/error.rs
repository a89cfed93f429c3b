//! The errors of a forge, one variant each. A message repeats the forge's own text only where it explains what was
//! wrong with a request, shortened and without the token.

use std::time::Duration;

use windlass_outbound::ResolveError;

/// Why a request to a forge failed. Never contains the token.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum ForgeError {
    /// The additional authority is not a certificate, or TLS is not available on this machine.
    #[error("cannot prepare a connection: {reason}")]
    Client {
        /// The reason.
        reason: String,
    },
    /// The token contains characters that no token has.
    #[error("the token contains invalid characters")]
    TokenShape,
    /// The host has no address, or one that this server does not connect to.
    #[error(transparent)]
    AddressRefused(ResolveError),
    /// The forge does not answer in time.
    #[error("could not reach {address}")]
    Unreachable {
        /// The address.
        address: String,
    },
    /// The forge's certificate is not trusted, or the server does not use TLS.
    #[error("the certificate of {address} is not trusted: {reason}")]
    Tls {
        /// The address.
        address: String,
        /// The reason.
        reason: String,
    },
    /// 401: the token is rejected.
    #[error("{address} does not accept the token: it is wrong, has expired or was revoked")]
    Token {
        /// The address.
        address: String,
    },
    /// 403: the token has no permission.
    #[error("the token may not {doing}{}", reason_suffix(.reason))]
    Forbidden {
        /// The attempted operation.
        doing: String,
        /// The forge's explanation, if there is one.
        reason: String,
    },
    /// 404: the repository or object does not exist, or is hidden from the token.
    #[error("cannot {doing}: it does not exist, or the token may not read it")]
    Missing {
        /// The attempted operation.
        doing: String,
    },
    /// 409: the object to create exists.
    #[error("cannot {doing}: it already exists")]
    Exists {
        /// The attempted operation.
        doing: String,
    },
    /// 400 or 422: the request is not valid.
    #[error("cannot {doing}: it was refused{}", reason_suffix(.reason))]
    Refused {
        /// The attempted operation.
        doing: String,
        /// The forge's explanation, if there is one.
        reason: String,
    },
    /// The rate limit is reached: 429, or the status that a forge uses instead.
    #[error("{address} limits requests")]
    Busy {
        /// The address.
        address: String,
        /// The forge's Retry-After.
        retry_after: Option<Duration>,
    },
    /// The forge redirects to another server, which must not get the token.
    #[error("{address} redirects to {to}, where the token may not be sent")]
    Redirected {
        /// The address.
        address: String,
        /// The target of the redirect.
        to: String,
    },
    /// The forge answered with an unexpected status.
    #[error("{address} returned status {status} on the request to {doing}")]
    Answer {
        /// The address.
        address: String,
        /// The HTTP status.
        status: u16,
        /// The attempted operation.
        doing: String,
    },
    /// The response is not JSON, or not the JSON that was expected.
    #[error("cannot parse the response of {address}")]
    NotUnderstood {
        /// The address.
        address: String,
    },
    /// The response is larger than any that is expected.
    #[error("the response of {address} is too large")]
    TooLarge {
        /// The address.
        address: String,
    },
    /// This token cannot create a repository for this owner.
    #[error(
        "the organisation {owner} does not exist, and the token may not create repositories for other users"
    )]
    NoOwner {
        /// The owner.
        owner: String,
    },
}

fn reason_suffix(reason: &str) -> String {
    if reason.is_empty() { String::new() } else { format!(": {reason}") }
}

/// Whether a retry can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retryability {
    /// It can: the network or the forge may recover.
    Transient,
    /// It cannot: someone has to change something first.
    Permanent,
}

impl ForgeError {
    /// A stable code for scripts.
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

    /// How to fix it.
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

    /// Whether a retry can help.
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

    /// The forge's Retry-After.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            ForgeError::Busy { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
