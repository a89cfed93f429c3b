//! Which credential may be sent to which host, and why not.

use windlass_core::credential_hosts::{
    CredentialDestination, CredentialHostRefusal, CredentialHosts, UnreadableHosts, check_destination,
};
use windlass_core::id::AccountId;
use windlass_secrets::CredentialFields;
use windlass_source::{RemoteScheme, RemoteUrl};
use windlass_store::StoreError;

use crate::control::Control;

/// A credential and the host to which it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CredentialUse {
    pub(crate) path: String,
    pub(crate) to: CredentialDestination,
}

/// Why a credential is not sent to a host, as text.
#[derive(Debug)]
pub(crate) struct CredentialRefusal {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: String,
}

impl CredentialRefusal {
    pub(crate) fn of(why: &CredentialHostRefusal, used: &CredentialUse) -> CredentialRefusal {
        let CredentialUse { path, to } = used;
        CredentialRefusal { code: why.code(), message: why.message(path, to), help: why.help(path, to) }
    }

    /// The bindings could not be loaded.
    fn unknown(error: &StoreError) -> CredentialRefusal {
        tracing::error!(%error, "could not read a credential's bindings");
        let message = "could not check which hosts the credential is bound to".to_owned();
        CredentialRefusal {
            code: "database",
            message,
            help: "try again; see the server's log for the cause".to_owned(),
        }
    }
}

/// The hosts that a credential names.
pub(crate) fn named_hosts(fields: &CredentialFields) -> Result<Option<CredentialHosts>, UnreadableHosts> {
    let field = |name: &str| fields.get(name).map(|value| value.expose().as_str());
    CredentialHosts::read(field("url"), field("hosts"))
}

/// The destination of a repository's git credential; none for a local directory.
pub(crate) fn git_destination(url: &RemoteUrl) -> Option<CredentialDestination> {
    (url.scheme() != RemoteScheme::File).then(|| CredentialDestination::new(url.host(), url.effective_port()))
}

pub(crate) async fn bound_hosts(
    server: &Control,
    account_id: &AccountId,
    path: &str,
) -> Result<Vec<CredentialDestination>, StoreError> {
    let hosts = server.store().read().await?.credential_hosts(account_id, path).await?;
    Ok(hosts.iter().filter_map(|host| CredentialDestination::parse(host)).collect())
}

/// Fails unless a credential of an account may be sent to a host. `fields` is its content, as just read.
pub(crate) async fn check(
    server: &Control,
    account_id: &AccountId,
    used: &CredentialUse,
    fields: &CredentialFields,
) -> Result<(), CredentialRefusal> {
    let bound = bound_hosts(server, account_id, &used.path)
        .await
        .map_err(|error| CredentialRefusal::unknown(&error))?;
    check_destination(&named_hosts(fields), &bound, &used.to).map_err(|why| CredentialRefusal::of(&why, used))
}
