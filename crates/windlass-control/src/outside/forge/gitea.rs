//! Speaking to the Gitea in which repositories are made on request: the operator's, with the operator's token.

use windlass_core::address_guard::AddressRules;
use windlass_forge::api::Forge;
use windlass_outbound::Guard;
use windlass_secrets::{ACCOUNT, Credentials};

use crate::config::gitea::Gitea;
use crate::outside::forge::trouble::Trouble;
use crate::outside::forge::way::token_of;

/// Gets the token and prepares to ask, for an account.
pub(crate) async fn connect_gitea(
    gitea: &Gitea,
    account: &str,
    credentials: &Credentials,
) -> Result<Forge, Trouble> {
    let path = gitea.credential_path.replace(ACCOUNT, account);
    // Both the path and the host are the operator's, so that no binding is needed.
    let fields = credentials.read(account, &path).await?;
    let token = token_of(&path, &fields)?;
    // The operator named this host, so it may be on this machine.
    let (host, port) = gitea.address.destination();
    let guard = Guard::new(AddressRules::default().naming(host, Some(port)));
    Ok(Forge::new(&gitea.address, token, gitea.ca_pem.as_deref(), &guard)?)
}
