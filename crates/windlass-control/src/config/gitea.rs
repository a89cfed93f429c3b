//! The Gitea in which Windlass creates repositories on request, as the operator configured it.

use windlass_forge::api::{AddressError, ApiAddress, ForgeKind, PlainHttp};

/// Why a Gitea cannot be used as configured.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the address of Gitea: {source}")]
pub struct GiteaError {
    source: AddressError,
}

impl GiteaError {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self.source {
            AddressError::Plain => "use https://; plain http only on this machine",
            _ => "write --gitea-url https://gitea.example.com",
        }
    }
}

/// A Gitea or Forgejo, and where its token is stored.
#[derive(Clone, Debug)]
pub struct Gitea {
    pub(crate) address: ApiAddress,
    pub(crate) credential_path: String,
    pub(crate) ca_pem: Option<String>,
}

impl Gitea {
    /// The Gitea at an address. `{account}` in the path of the token is replaced by the account's name; `ca_pem` is trusted
    /// in addition to the system's authorities.
    pub fn new(url: &str, credential_path: &str, ca_pem: Option<String>) -> Result<Gitea, GiteaError> {
        let address = ApiAddress::read(url, ForgeKind::Gitea, PlainHttp::Allowed);
        let address = address.map_err(|source| GiteaError { source })?;
        if !address.is_confidential() {
            return Err(GiteaError { source: AddressError::Plain });
        }
        Ok(Gitea { address, credential_path: credential_path.to_owned(), ca_pem })
    }
}
