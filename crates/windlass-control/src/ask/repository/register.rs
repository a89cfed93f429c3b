//! Registering, changing and removing repositories, and clearing their pinned SSH host keys.

use serde_json::{Value, json};
use windlass_api::types::{RepositoryFields, RepositoryInfo};
use windlass_core::apply::Gatekeeper;
use windlass_core::gate::RepositoryChange;
use windlass_core::id::AccountId;
use windlass_core::proposal::CloseReason;
use windlass_core::repository::{ForgeSettings, Repository};
use windlass_core::run::Trigger;
use windlass_store::Reading;

use crate::ask::credential_binding;
use crate::ask::repository::fields::{change_repository, info, new_repository};
use crate::ask::repository::find::find;
use crate::ask::repository::record::record;
use crate::ask::repository::withdraw::{withdraw_all, withdraw_direct};
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::credential::CredentialUse;
use crate::flow::gate::gatekeeper::check_repository_change;
use crate::flow::gate::re_evaluate::re_evaluate_open_proposals;
use crate::flow::sync::queue::{SyncRequest, queue_run};
use crate::page::IfMatch;
use crate::refusal::Refusal;

/// The reason that the audit log gives when a credential was bound without an explicit request.
pub(crate) const FIRST_USE: &str = "first used there by an admin";

/// Registers a repository and, if it is enabled, syncs it for the first time.
pub async fn register(
    server: &Control,
    who: &Identity,
    fields: RepositoryFields,
) -> Result<RepositoryInfo, Refusal> {
    let now = now();
    let config = server.config();
    let repository = new_repository(&who.account_id, fields, config, now)?;
    let missing_bindings = credential_binding::missing_bindings(server, who, &repository, None).await?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    check_repository_change(&gatekeeper, who, RepositoryChange::Register(&repository.trusted_settings()))?;
    if writing.repository(&who.account_id, &repository.name).await?.is_some() {
        let message = format!("a repository named {} exists", repository.name);
        return Err(Refusal::conflict("taken", message, "choose another name"));
    }
    writing.repository_add(&repository).await?;
    credential_binding::bind(&mut writing, who, &missing_bindings, FIRST_USE).await?;
    if repository.enabled {
        let request = SyncRequest::new(Trigger::Request, Some(&who.email));
        queue_run(&mut writing, &repository, &request, now).await?;
        writing.repository_schedule(&repository.id, now.plus(repository.interval)).await?;
    }
    record(&mut writing, who, "repository.register", &repository, audited_settings(&repository), now);
    let stored = find(&mut writing, who, repository.id.as_str()).await?;
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    Ok(info(&stored))
}

async fn load_gatekeeper(reading: &mut Reading, account_id: &AccountId) -> Result<Gatekeeper, Refusal> {
    let account = reading.account(account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    Ok(Gatekeeper::before_approvals(&account))
}

/// The part of a repository's configuration that the audit log stores.
fn audited_settings(repository: &Repository) -> Value {
    json!({
        "name": repository.name, "repo_url": repository.repo_url, "branch": repository.branch,
        "path_prefix": repository.path_prefix, "vault_credential_path": repository.credential_path,
        "enabled": repository.enabled, "auto_apply": repository.auto_apply,
        "reconcile_interval_seconds": repository.interval.as_secs(),
        "requires_signature": repository.signers.is_some(), "forge": repository.forge,
    })
}

/// The settings that determine what is reported to a forge, and where.
fn forge_location(repository: &Repository) -> (Option<ForgeSettings>, String) {
    (repository.forge.clone(), repository.repo_url.clone())
}

/// The bindings that a repository's credentials still need after a change.
async fn missing_bindings_after(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    fields: &RepositoryFields,
) -> Result<Vec<CredentialUse>, Refusal> {
    let before = find(&mut server.store().read().await?, who, id_or_name).await?;
    let mut after = before.clone();
    change_repository(&mut after, fields.clone(), server.config())?;
    credential_binding::missing_bindings(server, who, &after, Some(&before)).await
}

/// Changes the given fields of a repository and makes its next sync due now.
pub async fn configure(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    if_match: &IfMatch,
    fields: RepositoryFields,
) -> Result<RepositoryInfo, Refusal> {
    let now = now();
    // Credentials are checked before the transaction begins, so that it does not wait for Vault.
    let missing_bindings = missing_bindings_after(server, who, id_or_name, &fields).await?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let mut repository = find(&mut writing, who, id_or_name).await?;
    if_match.check(repository.version)?;
    let (was_good, old_location) = (repository.good_commit.clone(), forge_location(&repository));
    if repository.left_by.is_some() {
        let message =
            format!("{} is a placeholder for a repository that moved to another account", repository.name);
        let help =
            "it cannot sync: approve or reject its destroys, move the repository back, or remove this one";
        return Err(Refusal::conflict("left-behind", message, help));
    }
    let before = repository.clone();
    change_repository(&mut repository, fields, server.config())?;
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    let (old, new) = (before.trusted_settings(), repository.trusted_settings());
    check_repository_change(&gatekeeper, who, RepositoryChange::Change { before: &old, after: &new })?;
    repository.updated_at = now;
    repository.next_sync_at = now;
    let taken = writing.repository(&who.account_id, &repository.name).await?;
    if taken.is_some_and(|taken| taken.id != repository.id) {
        return Err(Refusal::conflict("taken", "another repository has this name", "choose another"));
    }
    if !writing.repository_configure(&repository).await? {
        return Err(Refusal::changed_meanwhile());
    }
    credential_binding::bind(&mut writing, who, &missing_bindings, FIRST_USE).await?;
    if was_good.is_some() && repository.good_commit.is_none() {
        writing.repository_clear_last_good(&repository.id).await?;
    }
    if !before.has_same_source(&repository) {
        // Proposals from the old source do not get the trust that rules give to the new one.
        withdraw_all(&mut writing, who, &repository, &CloseReason::RepositorySourceChanged).await?;
    }
    match old_location == forge_location(&repository) {
        true => writing.forge_reports_retry(&repository.id, now).await.map(|_| ())?,
        // Nothing was reported to the new location yet.
        false => writing.forge_reports_remove(&repository.id).await?,
    }
    record(&mut writing, who, "repository.change", &repository, audited_settings(&repository), now);
    // Its proposals may no longer need approval.
    re_evaluate_open_proposals(&mut writing, now).await?;
    let stored = find(&mut writing, who, repository.id.as_str()).await?;
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    server.nudges().apply.notify_one();
    Ok(info(&stored))
}

/// Removes a repository. Its resources stay accepted, without an owner.
pub async fn unregister(server: &Control, who: &Identity, id_or_name: &str) -> Result<(), Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    let owned = writing.resources_owned(&who.account_id, &repository.id).await?;
    let settings = repository.trusted_settings();
    check_repository_change(&gatekeeper, who, RepositoryChange::Remove { settings: &settings, owned })?;
    withdraw_all(&mut writing, who, &repository, &CloseReason::RepositoryRemoved).await?;
    withdraw_direct(&mut writing, who, &repository, &CloseReason::OwnerRemoved).await?;
    record(&mut writing, who, "repository.remove", &repository, json!({}), now);
    writing.repository_remove(&repository.id).await?;
    server.commit(writing).await?;
    // The mirrors are only caches, so failing to delete one does no harm.
    let _ = tokio::fs::remove_dir_all(server.mirror_directory(&repository.id)).await;
    let _ = tokio::fs::remove_dir_all(server.preview_directory(&repository.id)).await;
    Ok(())
}

/// Clears the pinned SSH host keys of a repository.
pub async fn clear_host_keys(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
) -> Result<RepositoryInfo, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let mut repository = find(&mut writing, who, id_or_name).await?;
    let with_keys = repository.clone();
    let before = repository.host_keys.take();
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    let (old, new) = (with_keys.trusted_settings(), repository.trusted_settings());
    check_repository_change(&gatekeeper, who, RepositoryChange::Change { before: &old, after: &new })?;
    repository.updated_at = now;
    writing.repository_configure(&repository).await?;
    let detail = json!({"forgotten": before.is_some()});
    record(&mut writing, who, "repository.forget_host_keys", &repository, detail, now);
    let stored = find(&mut writing, who, repository.id.as_str()).await?;
    server.commit(writing).await?;
    Ok(info(&stored))
}
