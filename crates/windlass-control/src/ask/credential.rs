//! The paths of credentials, for people who register repositories, and the hosts to which each may be sent.

use serde_json::json;
use windlass_api::types::{
    CredentialBindingBody, CredentialBindingInfo, CredentialBindingList, CredentialInfo, CredentialList,
};
use windlass_core::credential_hosts::CredentialDestination;
use windlass_secrets::{SecretError, VaultError};
use windlass_store::{CredentialBinding, Reading};

use crate::ask::credential_binding::{self, check_shared};
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::credential::CredentialUse;
use crate::record;
use crate::refusal::{Refusal, RefusalKind};

/// The longest path of a credential, in bytes. Longer ones are mistakes.
const MAX_PATH: usize = 512;

/// The credentials that the caller's account may name, and the hosts to which each may be sent.
pub async fn list_paths(server: &Control, who: &Identity) -> Result<CredentialList, Refusal> {
    let listing = server.config().credentials.list(&who.account_name).await.map_err(refused)?;
    let bindings = server.store().read().await?.credential_bindings(&who.account_id).await?;
    let hosts_of = |path: &str| {
        let of_path = bindings.iter().filter(|binding| binding.credential_path == path);
        of_path.map(|binding| binding.host.clone()).collect()
    };
    let credential = |path: String| CredentialInfo { hosts: hosts_of(&path), path };
    let vault_credentials = listing.paths.into_iter().map(credential).collect();
    Ok(CredentialList { vault_credentials, complete: listing.is_complete })
}

/// A configuration error lasts until someone fixes it, so it is a conflict. A Vault error can pass, so it is "unavailable".
fn refused(error: SecretError) -> Refusal {
    let kind = match &error {
        SecretError::Vault(VaultError::NoPrefix) => RefusalKind::Conflict,
        SecretError::Vault(_) => RefusalKind::Unavailable,
        _ => RefusalKind::Conflict,
    };
    Refusal::new(kind, error.code(), error.to_string(), error.help())
}

/// The hosts to which credentials of the caller's account may be sent.
pub async fn list_bindings(server: &Control, who: &Identity) -> Result<CredentialBindingList, Refusal> {
    load(&mut server.store().read().await?, who).await
}

async fn load(reading: &mut Reading, who: &Identity) -> Result<CredentialBindingList, Refusal> {
    let found = reading.credential_bindings(&who.account_id).await?;
    Ok(CredentialBindingList { credential_bindings: found.into_iter().map(info).collect() })
}

fn info(binding: CredentialBinding) -> CredentialBindingInfo {
    CredentialBindingInfo {
        credential_path: binding.credential_path,
        host: binding.host,
        bound_by: binding.bound_by,
        bound_at: binding.bound_at.to_string(),
    }
}

fn use_of(body: CredentialBindingBody) -> Result<CredentialUse, Refusal> {
    let invalid = |message: &str, help: &str| Refusal::unprocessable("bad-value", message, help);
    let path = body.credential_path;
    let is_plain = path.len() <= MAX_PATH && !path.chars().any(char::is_control) && !path.contains("://");
    if path.trim().is_empty() || !is_plain {
        let help = "write the credential's path, for example secret/data/gitops/deploy-key";
        return Err(invalid("credential_path: not a valid path", help));
    }
    let to = CredentialDestination::parse(body.host.trim()).ok_or_else(|| {
        invalid("host: not a valid host", "write git.example.com:22, or git.example.com for port 443")
    })?;
    Ok(CredentialUse { path, to })
}

/// Binds a credential to a host.
pub async fn bind_by_admin(
    server: &Control,
    who: &Identity,
    body: CredentialBindingBody,
) -> Result<CredentialBindingList, Refusal> {
    let used = use_of(body)?;
    check_shared(server, who, &used).await?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    credential_binding::bind(&mut writing, who, &[used], "an admin bound it").await?;
    let list = load(&mut writing, who).await?;
    server.commit(writing).await?;
    server.nudges().forge.notify_one();
    Ok(list)
}

/// Removes the binding of a credential to a host.
pub async fn unbind_by_admin(
    server: &Control,
    who: &Identity,
    body: CredentialBindingBody,
) -> Result<CredentialBindingList, Refusal> {
    let CredentialUse { path, to } = use_of(body)?;
    let host = to.to_string();
    let mut writing = server.store().write_account(&who.account_id).await?;
    if !writing.credential_unbind(&who.account_id, &path, &host).await? {
        return Err(Refusal::not_found());
    }
    let detail = json!({"host": host});
    writing.audit(record::audit_entry(
        &who.actor(),
        "credential.unbind",
        ("credential", &path),
        detail,
        now(),
    ));
    let list = load(&mut writing, who).await?;
    server.commit(writing).await?;
    Ok(list)
}
