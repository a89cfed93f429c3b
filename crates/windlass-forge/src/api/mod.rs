//! The API of forges: repositories, commit statuses, comments on pull requests.
//!
//! Pure functions build the requests, one file per operation. `client` sends them; it is the only module that uses the
//! network and that has the token. This module does not decide what to report, retries nothing and keeps no state.

mod address;
mod client;
mod comment;
mod error;
mod location;
mod repository;
mod request;
mod status;
mod token_access;

pub use windlass_core::forge::ForgeKind;
use windlass_core::redacted::Redacted;
use windlass_outbound::AddressGuard;

pub use address::{AddressError, ApiAddress, HostRule, PlainHttp};
pub use comment::{CommentChange, PullRequestComment, comment_text, marker};
pub use error::{ForgeError, Retryability};
pub use location::{Project, RepositoryLocation, repository_location};
pub use repository::{CreatedRepository, NewRepository, Visibility};
pub use status::{CommitStatus, MAX_DESCRIPTION, StatusState};
pub use token_access::{RepositoryAccess, TokenAccess};

use self::client::ForgeClient;

/// A client of one forge, with its token.
#[derive(Debug)]
pub struct Forge {
    kind: ForgeKind,
    client: ForgeClient,
}

impl Forge {
    /// Creates a client without sending a request. `extra_ca_pem` is trusted in addition to the system's authorities;
    /// the guard refuses addresses that the server may not connect to.
    pub fn new(
        address: &ApiAddress,
        token: Redacted<String>,
        extra_ca_pem: Option<&str>,
        guard: &AddressGuard,
    ) -> Result<Forge, ForgeError> {
        Ok(Forge { kind: address.kind(), client: ForgeClient::new(address, token, extra_ca_pem, guard)? })
    }

    /// The kind of forge.
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }
}
