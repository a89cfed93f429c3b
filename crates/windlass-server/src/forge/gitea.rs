//! The Gitea in which repositories are made on request: the operator's, with the operator's token.

use windlass_core::address_guard::AddressRules;
use windlass_forge::api::{AddressError, ApiAddress, Forge, ForgeKind, Plain};
use windlass_outbound::Guard;
use windlass_secrets::{ACCOUNT, Credentials};

use super::Trouble;
use super::way::token_of;

/// Why a Gitea cannot be used as it was named.
#[derive(Debug, thiserror::Error)]
#[error("the address of Gitea cannot be used: {source}")]
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

/// A Gitea or Forgejo, and where its token is kept.
#[derive(Clone, Debug)]
pub struct Gitea {
    address: ApiAddress,
    credential_path: String,
    ca_pem: Option<String>,
}

impl Gitea {
    /// The Gitea at an address. `{account}` in the path of the token stands for the account's name; `ca_pem` is trusted
    /// beside the system's authorities.
    pub fn new(url: &str, credential_path: &str, ca_pem: Option<String>) -> Result<Gitea, GiteaError> {
        let address = ApiAddress::read(url, ForgeKind::Gitea, Plain::Allowed);
        let address = address.map_err(|source| GiteaError { source })?;
        if !address.is_private_way() {
            return Err(GiteaError { source: AddressError::Plain });
        }
        Ok(Gitea { address, credential_path: credential_path.to_owned(), ca_pem })
    }

    /// Gets the token and prepares to ask, for an account.
    pub(crate) async fn connect(&self, account: &str, credentials: &Credentials) -> Result<Forge, Trouble> {
        let path = self.credential_path.replace(ACCOUNT, account);
        // Both the path and the host are the operator's, so that no binding is needed.
        let fields = credentials.read(account, &path).await?;
        let token = token_of(&path, &fields)?;
        // The operator named this host, so it may be on this machine.
        let (host, port) = self.address.destination();
        let guard = Guard::new(AddressRules::default().naming(host, Some(port)));
        Ok(Forge::new(&self.address, token, self.ca_pem.as_deref(), &guard)?)
    }
}
