//! Accounts: create, halt, resume, show status.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_api::permission::Role;
use windlass_api::types::{AccountInfo, HaltInfo, Status};
use windlass_core::account::Account;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::gate::Halt;
use windlass_core::proposal;
use windlass_core::repository::LastStatus;
use windlass_core::resource::{Kind, ResourceKey};
use windlass_core::run::RunStatus;
use windlass_store::{Reading, StoreError, new_id};

use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;

/// An account as responses show it.
pub fn info(account: &Account) -> AccountInfo {
    AccountInfo {
        id: account.id.to_string(),
        name: account.name.clone(),
        halted: account.halt.as_ref().map(|halt| HaltInfo {
            by: halt.by.clone(),
            at: halt.since.to_string(),
            reason: halt.reason.clone(),
        }),
        created_at: account.created_at.to_string(),
    }
}

/// Every account of the installation.
pub async fn list_all(server: &Control) -> Result<Vec<AccountInfo>, Refusal> {
    let accounts = server.store().read().await?.accounts().await?;
    Ok(accounts.iter().map(info).collect())
}

/// Creates an account, with the caller as its first admin.
pub async fn open_account(server: &Control, who: &Identity, name: &str) -> Result<AccountInfo, Refusal> {
    // The rules for account names are those for cluster names: one plain word.
    if let Err(complaint) = ResourceKey::read(Kind::Cluster, name) {
        let help = complaint.help.unwrap_or_default();
        return Err(Refusal::unprocessable("bad-name", complaint.message, help));
    }
    let now = now();
    let id = new_id();
    let mut writing = server.store().write().await?;
    if writing.account(name).await?.is_some() {
        return Err(Refusal::conflict("taken", "an account with this name exists", "choose another name"));
    }
    writing.account_add(&id, name, now).await?;
    writing.member_set(&id, &who.user_id, Role::Admin, now).await?;
    let mut writing = server.store().continue_in_account(writing, &id).await?;
    writing.audit(record::audit_entry(&who.actor(), "account.create", ("account", name), json!({}), now));
    let account = writing.account(id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    server.commit(writing).await?;
    Ok(info(&account))
}

/// Halts all applying in the caller's account.
pub async fn halt_account(server: &Control, who: &Identity, reason: &str) -> Result<AccountInfo, Refusal> {
    let reason: String = reason.trim().chars().take(500).collect();
    set_halt(server, who, Some(Halt { since: now(), by: who.email.clone(), reason })).await
}

/// Resumes applying in the caller's account.
pub async fn resume_account(server: &Control, who: &Identity) -> Result<AccountInfo, Refusal> {
    set_halt(server, who, None).await
}

async fn set_halt(server: &Control, who: &Identity, halt: Option<Halt>) -> Result<AccountInfo, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    writing.account_halt(halt.as_ref()).await?;
    let (action, kind, message) = match &halt {
        Some(halt) => (
            "account.halt",
            EventKind::AccountHalted,
            format!("{} halted all applying: {}", who.email, halt.reason),
        ),
        None => ("account.resume", EventKind::AccountResumed, format!("{} resumed applying", who.email)),
    };
    let detail = json!({"reason": halt.as_ref().map(|halt| halt.reason.clone())});
    writing.audit(record::audit_entry(
        &who.actor(),
        action,
        ("account", &who.account_name),
        detail.clone(),
        now,
    ));
    writing.event(NewEvent {
        kind,
        severity: Severity::Critical,
        resource: None,
        repository_id: None,
        correlation_id: None,
        source: who.email.clone(),
        message,
        payload: detail,
        at: now,
    });
    let account = writing.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    server.commit(writing).await?;
    server.nudges().apply.notify_one();
    Ok(info(&account))
}

/// A summary of the caller's account.
pub async fn load_status(server: &Control, who: &Identity) -> Result<Status, Refusal> {
    let mut reading = server.store().read().await?;
    let account = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let resources = reading.resources_count(&who.account_id).await?;
    let proposals = reading.proposals_count(&who.account_id).await?;
    let repositories = reading.repositories(&who.account_id).await?;
    let failed: Vec<String> = repositories
        .iter()
        .filter(|repository| repository.last_status == LastStatus::Ended(RunStatus::Failed))
        .map(|repository| repository.name.clone())
        .collect();
    let drifted = reading.drifts_count(&who.account_id).await?;
    let mut waiting_for = blocking_reasons(&mut reading, &account, &proposals).await?;
    waiting_for.extend(
        failed.iter().map(|name| format!("the last sync of {name} failed: see `windlass repo show {name}`")),
    );
    waiting_for
        .extend(server.config().credentials.last_problem().map(|trouble| format!("credentials: {trouble}")));
    waiting_for.extend(server.problems().iter().map(|(part, trouble)| format!("{part}: {trouble}")));
    let fault = server.signed_heads().fault(&who.account_id);
    waiting_for.extend(fault.map(|fault| format!("signing of the audit log stopped: {fault}")));
    Ok(Status {
        account: info(&account),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        resources: resources.iter().map(|(kind, count)| (kind.plural().to_owned(), *count)).collect(),
        proposals: proposals
            .iter()
            .map(|(status, count)| (status.slug().to_owned(), *count))
            .collect::<BTreeMap<_, _>>(),
        repositories: repositories.len(),
        repositories_failed: failed,
        drifted,
        waiting_for,
    })
}

async fn blocking_reasons(
    reading: &mut Reading,
    account: &Account,
    proposals: &[(proposal::Status, usize)],
) -> Result<Vec<String>, StoreError> {
    let mut reasons = Vec::new();
    if let Some(halt) = &account.halt {
        reasons.push(format!("{} halted applying: {}", halt.by, halt.reason));
    }
    for (status, count) in proposals {
        if *status == proposal::Status::PendingApproval {
            reasons.push(format!("{count} pending approval"));
        }
    }
    let filter = windlass_store::ProposalFilter {
        statuses: vec![proposal::Status::Approved],
        ..windlass_store::ProposalFilter::default()
    };
    for approved in reading.proposals(&account.id, &filter, None, 20).await? {
        if let Some(reason) = approved.blocked_by.first() {
            reasons.push(format!(
                "approved {} {} is blocked: {reason}",
                approved.change.action(),
                approved.change.key
            ));
        }
    }
    Ok(reasons)
}
