//! The approval policy.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_api::types::PolicyInfo;
use windlass_core::account::Account;
use windlass_core::diagnostic::{self, Diagnostic};
use windlass_core::gate::{Policy, RepositoryIdentity};
use windlass_core::id::RepositoryId;
use windlass_core::repository::Repository;
use windlass_store::{AuditEntry, Reading};

use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::flow::gate::gatekeeper::may_approve;
use crate::flow::gate::re_evaluate::re_evaluate_open_proposals;
use crate::page::IfMatch;
use crate::record;
use crate::refusal::Refusal;

/// The policy of the caller's account.
pub async fn load(reading: &mut Reading, who: &Identity) -> Result<PolicyInfo, Refusal> {
    let account = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let repositories = reading.repositories(&who.account_id).await?;
    Ok(info(&account, &repositories))
}

/// A policy as responses show it, with the current names of repositories.
pub fn info(account: &Account, repositories: &[Repository]) -> PolicyInfo {
    let names: BTreeMap<RepositoryId, String> =
        repositories.iter().map(|it| (it.id.clone(), it.name.clone())).collect();
    let policy = account.bound_policy();
    let bound = account.policy_repositories.clone().unwrap_or_default();
    let is_gone = |name: &String| bound.get(name).is_none_or(|id| !names.contains_key(id));
    PolicyInfo {
        unknown_repositories: policy.repository_names().into_iter().filter(is_gone).collect(),
        policy: policy.with_current_names(&names).to_json(),
        version: account.policy_version,
    }
}

/// Parses a policy; returns the problems with their places if there are errors.
pub fn read(text: &str) -> Result<Policy, Vec<Diagnostic>> {
    let (policy, problems) = Policy::read("policy", text);
    policy.filter(|_| !diagnostic::has_errors(&problems)).ok_or(problems)
}

/// Replaces the policy of the caller's account.
pub async fn replace_policy(
    server: &Control,
    who: &Identity,
    if_match: &IfMatch,
    policy: &Policy,
) -> Result<PolicyInfo, Refusal> {
    // A policy can approve changes automatically, so a token that may administer but not approve must not set one.
    if !may_approve(who) {
        let message = format!(
            "a policy can approve changes: setting it needs the permission {}",
            Permission::GitopsApprove
        );
        return Err(Refusal::forbidden(message, "ask an approver"));
    }
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let account = writing.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    if_match.check(account.policy_version)?;
    let repositories = writing.repositories(&who.account_id).await?;
    let bound = resolve(policy, &account, &repositories)?;
    let document = policy.to_json();
    if !writing.account_set_policy(&document.to_string(), &bound, account.policy_version).await? {
        return Err(Refusal::changed_meanwhile());
    }
    let detail = json!({"policy": document, "repositories": bound});
    writing.audit(AuditEntry {
        before: Some(account.bound_policy().digest()),
        after: Some(policy.digest()),
        ..record::audit_entry(&who.actor(), "policy.replace", ("policy", &who.account_name), detail, now)
    });
    // The new policy may approve pending proposals automatically.
    re_evaluate_open_proposals(&mut writing, now).await?;
    let stored = writing.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    server.commit(writing).await?;
    server.nudges().apply.notify_one();
    Ok(info(&stored, &repositories))
}

/// Resolves each plain repository name of a policy to a repository. Rejects an unknown name: otherwise the rule would apply
/// to whatever repository someone registers under that name later.
fn resolve(
    policy: &Policy,
    account: &Account,
    repositories: &[Repository],
) -> Result<BTreeMap<String, RepositoryId>, Refusal> {
    let before = account.policy_repositories.clone().unwrap_or_default();
    let repositories: Vec<RepositoryIdentity<'_>> = repositories.iter().map(Repository::identity).collect();
    policy
        .resolve_repositories(&before, &repositories)
        .map_err(|problem| Refusal::unprocessable(problem.code(), problem.message(), problem.help()))
}

/// Resolves the repository names in policies that an earlier version saved without resolving them.
pub async fn bind_stored_policies(store: &windlass_store::Store) -> Result<(), windlass_store::StoreError> {
    let accounts = store.read().await?.accounts().await?;
    for account in accounts.iter().filter(|account| account.policy_repositories.is_none()) {
        let mut writing = store.write_account(&account.id).await?;
        let repositories = writing.repositories(&account.id).await?;
        let mut bound = BTreeMap::new();
        for name in account.bound_policy().repository_names() {
            match repositories.iter().find(|it| it.name == name) {
                Some(found) => drop(bound.insert(name, found.id.clone())),
                None => tracing::warn!(
                    account = account.name,
                    repository = name,
                    "a rule names a repository that does not exist; the rule matches nothing"
                ),
            }
        }
        writing.account_bind_policy(&bound).await?;
        writing.commit().await?;
    }
    Ok(())
}
