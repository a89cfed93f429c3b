//! The hosts to which Windlass sends credentials.
//!
//! Windlass sends a credential that names its hosts to those hosts only. It binds any other credential to the first host that
//! an admin uses it with: when registering, changing or testing a repository. Each use is checked when the credential is read.
//! `windlass_core::credential_hosts` decides; this module loads and saves bindings.

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_core::credential_hosts::{CredentialHostRefusal, check_destination};
use windlass_core::id::AccountId;
use windlass_core::repository::Repository;
use windlass_source::{InsecureUrls, RemoteUrl};
use windlass_store::{AccountWriting, Actor, CredentialBinding, Store, StoreError};

use crate::caller::Identity;
use crate::clock::now;
use crate::config::ControlConfig;
use crate::control::Control;
use crate::credential::{CredentialRefusal, CredentialUse, bound_hosts, git_destination, named_hosts};
use crate::outside::forge::target::ForgeTarget;
use crate::record;
use crate::refusal::{Refusal, RefusalKind};

/// The setting that records that credentials of repositories from before bindings existed are bound.
const BINDINGS_UPGRADED_SETTING: &str = "credential_bindings";

const BINDINGS_UPGRADED: &str = "bound";

/// The credentials that a repository uses, and the hosts to which they are sent.
fn credential_uses(repository: &Repository, config: &ControlConfig) -> Vec<CredentialUse> {
    let mut uses = Vec::new();
    let url = RemoteUrl::parse(&repository.repo_url, InsecureUrls::Allowed).ok();
    if let (Some(path), Some(to)) = (&repository.credential_path, url.as_ref().and_then(git_destination)) {
        uses.push(CredentialUse { path: path.clone(), to });
    }
    let target =
        repository.forge.as_ref().and_then(|settings| ForgeTarget::of(repository, settings, config).ok());
    uses.extend(target.map(|target| target.credential_use()).filter(|used| !uses.contains(used)));
    uses
}

/// The bindings that a repository's credentials still need; only an admin can add them. Uses that the repository had `before`
/// are not checked again.
pub(crate) async fn missing_bindings(
    server: &Control,
    who: &Identity,
    repository: &Repository,
    before: Option<&Repository>,
) -> Result<Vec<CredentialUse>, Refusal> {
    let known = before.map(|before| credential_uses(before, server.config())).unwrap_or_default();
    let mut to_bind = Vec::new();
    for used in credential_uses(repository, server.config()).into_iter().filter(|used| !known.contains(used))
    {
        let fields = server.config().credentials.read(&who.account_name, &used.path).await;
        // A credential that cannot be read now counts as naming no hosts; it is checked again when it is used.
        let named = fields.map_or(Ok(None), |fields| named_hosts(&fields));
        let bound = bound_hosts(server, &who.account_id, &used.path).await?;
        match check_destination(&named, &bound, &used.to) {
            Ok(()) => {}
            Err(CredentialHostRefusal::Unbound) if who.permissions.contains(&Permission::GitopsAdmin) => {
                check_shared(server, who, &used).await?;
                to_bind.push(used);
            }
            Err(why) => {
                let kind = match why {
                    CredentialHostRefusal::Unbound => RefusalKind::Forbidden,
                    _ => RefusalKind::Invalid,
                };
                let CredentialRefusal { code, message, help } = CredentialRefusal::of(&why, &used);
                return Err(Refusal::new(kind, code, message, help));
            }
        }
    }
    Ok(to_bind)
}

/// Where accounts share credentials, an admin of one account cannot bind a credential that others have bound to other hosts
/// only. Administrators of the installation can.
pub(crate) async fn check_shared(
    server: &Control,
    who: &Identity,
    used: &CredentialUse,
) -> Result<(), Refusal> {
    if server.config().credentials.is_split_by_account() || who.is_root {
        return Ok(());
    }
    let mut reading = server.store().read().await?;
    let elsewhere = reading.credential_hosts_elsewhere(&who.account_id, &used.path).await?;
    match elsewhere.is_empty() || elsewhere.contains(&used.to.to_string()) {
        true => Ok(()),
        false => Err(Refusal::forbidden(
            format!("the credential {} is shared by several accounts and bound to other hosts", used.path),
            "ask an administrator of the installation to bind it",
        )),
    }
}

/// Binds credentials to hosts, with an entry in the audit log.
pub(crate) async fn bind(
    writing: &mut AccountWriting,
    who: &Identity,
    uses: &[CredentialUse],
    reason: &str,
) -> Result<(), StoreError> {
    for used in uses {
        let host = used.to.to_string();
        let binding = CredentialBinding {
            account_id: who.account_id.clone(),
            credential_path: used.path.clone(),
            host: host.clone(),
            bound_by: who.email.clone(),
            bound_at: now(),
        };
        if writing.credential_bind(&binding).await? {
            let (target, detail) =
                (("credential", used.path.as_str()), json!({"host": host, "reason": reason}));
            writing.audit(record::audit_entry(&who.actor(), "credential.bind", target, detail, now()));
        }
    }
    Ok(())
}

/// Binds a repository's credentials in the account it moves to, unless they are bound there already.
pub(crate) async fn bind_after_move(
    writing: &mut AccountWriting,
    who: &Identity,
    repository: &Repository,
    (account_id, config): (&AccountId, &ControlConfig),
) -> Result<(), StoreError> {
    for CredentialUse { path, to } in credential_uses(repository, config) {
        if writing.credential_hosts(account_id, &path).await?.is_empty() {
            let binding = CredentialBinding {
                account_id: account_id.clone(),
                credential_path: path,
                host: to.to_string(),
                bound_by: who.email.clone(),
                bound_at: now(),
            };
            writing.credential_bind(&binding).await?;
        }
    }
    Ok(())
}

/// Binds existing credentials to the hosts of their repositories. Runs once, at the first start of a version that has bindings.
pub async fn bind_existing(store: &Store, config: &ControlConfig) -> Result<(), StoreError> {
    if store.read().await?.setting(BINDINGS_UPGRADED_SETTING).await?.as_deref() == Some(BINDINGS_UPGRADED) {
        return Ok(());
    }
    let accounts = store.read().await?.accounts().await?;
    for account in accounts {
        let mut writing = store.write_account(&account.id).await?;
        for repository in writing.repositories(&account.id).await? {
            for CredentialUse { path, to } in credential_uses(&repository, config) {
                let binding = CredentialBinding {
                    account_id: account.id.clone(),
                    credential_path: path.clone(),
                    host: to.to_string(),
                    bound_by: "windlass".to_owned(),
                    bound_at: now(),
                };
                if writing.credential_bind(&binding).await? {
                    let detail = json!({"host": to.to_string(), "reason": "used there before the upgrade"});
                    let target = ("credential", path.as_str());
                    writing.audit(record::audit_entry(
                        &Actor::windlass(),
                        "credential.bind",
                        target,
                        detail,
                        now(),
                    ));
                }
            }
        }
        writing.commit().await?;
    }
    let mut writing = store.write().await?;
    writing.setting_put(BINDINGS_UPGRADED_SETTING, BINDINGS_UPGRADED).await?;
    writing.commit().await
}
