//! What we ask of forges: repositories, commit statuses, comments on pull requests.
//!
//! Requests are made by pure functions, one file per operation, and sent by `wire`, which is the only place that
//! touches the network and the only one that knows the token. Nothing here decides what to tell, repeats by itself or
//! remembers anything.

mod address;
mod comment;
mod error;
mod location;
mod repository;
mod request;
mod status;
mod test;
mod wire;

pub use windlass_core::forge::ForgeKind;
use windlass_core::redacted::Redacted;
use windlass_outbound::AddressGuard;

pub use address::{AddressError, ApiAddress, HostRule, PlainHttp};
pub use comment::{CommentChange, PullRequestComment, marked, marker};
pub use error::{ForgeError, Retryability};
pub use location::{Project, RepositoryLocation, place_of};
pub use repository::{CreatedRepository, NewRepository, Visibility};
pub use status::{CommitStatus, MAX_DESCRIPTION, StatusState};
pub use test::{RepositoryAccess, TokenAccess};

use self::wire::ForgeClient;

/// A forge, and the token that lets us in.
#[derive(Debug)]
pub struct Forge {
    kind: ForgeKind,
    wire: ForgeClient,
}

impl Forge {
    /// Prepares to ask. Nothing is asked yet. `extra_ca_pem` is trusted beside the system's authorities; the guard
    /// refuses addresses that may not be connected to.
    pub fn new(
        address: &ApiAddress,
        token: Redacted<String>,
        extra_ca_pem: Option<&str>,
        guard: &AddressGuard,
    ) -> Result<Forge, ForgeError> {
        Ok(Forge { kind: address.kind(), wire: ForgeClient::new(address, token, extra_ca_pem, guard)? })
    }

    /// Which forge it is.
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }
}
