//! Connecting to the operator's Gitea, in which Windlass creates repositories on request, with the operator's token.

use windlass_core::address_guard::AddressRules;
use windlass_forge::api::Forge;
use windlass_outbound::AddressGuard;
use windlass_secrets::{ACCOUNT, CredentialStore};

use crate::config::gitea::Gitea;
use crate::outside::forge::problem::ForgeProblem;
use crate::outside::forge::target::token_of;

/// Reads the token and creates the client, for an account.
pub(crate) async fn connect_gitea(
    gitea: &Gitea,
    account: &str,
    credentials: &CredentialStore,
) -> Result<Forge, ForgeProblem> {
    let path = gitea.credential_path.replace(ACCOUNT, account);
    // The operator configured both the path and the host, so no binding is needed.
    let fields = credentials.read(account, &path).await?;
    let token = token_of(&path, &fields)?;
    // The operator named this host, so it may be on this machine.
    let (host, port) = gitea.address.destination();
    let guard = AddressGuard::new(AddressRules::default().for_operator_host(host, Some(port)));
    Ok(Forge::new(&gitea.address, token, gitea.ca_pem.as_deref(), &guard)?)
}
