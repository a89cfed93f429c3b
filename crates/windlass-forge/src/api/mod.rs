//! What we ask of forges: repositories, commit statuses, comments on pull requests.
//!
//! Requests are made by pure functions, one file per operation, and sent by `wire`, which is the only place that
//! touches the network and the only one that knows the token. Nothing here decides what to tell, repeats by itself or
//! remembers anything.

mod address;
mod comment;
mod error;
mod kind;
mod place;
mod repository;
mod request;
mod status;
mod test;
mod wire;

use windlass_core::redacted::Redacted;
use windlass_outbound::Guard;

pub use address::{AddressError, ApiAddress, HostRule, Plain};
pub use comment::{Comment, Put, marked, marker};
pub use error::{ForgeError, Lasting};
pub use kind::ForgeKind;
pub use place::{Place, Project, place_of};
pub use repository::{NewRepository, RepositoryMade, Visibility};
pub use status::{CommitStatus, MAX_DESCRIPTION, StatusState};
pub use test::{Access, Reach};

use self::wire::Wire;

/// A forge, and the token that lets us in.
#[derive(Debug)]
pub struct Forge {
    kind: ForgeKind,
    wire: Wire,
}

impl Forge {
    /// Prepares to ask. Nothing is asked yet. `extra_ca_pem` is trusted beside the system's authorities; the guard
    /// refuses addresses that may not be connected to.
    pub fn new(
        address: &ApiAddress,
        token: Redacted<String>,
        extra_ca_pem: Option<&str>,
        guard: &Guard,
    ) -> Result<Forge, ForgeError> {
        Ok(Forge { kind: address.kind(), wire: Wire::new(address, token, extra_ca_pem, guard)? })
    }

    /// Which forge it is.
    pub fn kind(&self) -> ForgeKind {
        self.kind
    }
}
