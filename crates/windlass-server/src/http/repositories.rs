//! Repositories.

use axum::extract::{Path, State};
use serde_json::{Value, json};
use windlass_api::permission::Permission;
use windlass_api::types::{
    CheckInfo, CheckOutcome, RepositoryBody, RepositoryEnvelope, RepositoryFields, RepositoryInfo,
    RepositoryList, RepositoryTest,
};
use windlass_core::gate::RepositoryChange;
use windlass_core::proposal::Status;
use windlass_core::quarantine::WorkEnd;
use windlass_source::{Check, CheckResult, test_remote};
use windlass_store::{
    AccountWriting, ForgeSettings, ProposalFilter, Reading, Repository, RunError, Severity, Trigger,
};

use super::repository_fields::{change_repository, info, new_repository};
use super::request::{Answer, Body, IfMatch, created, done, ok, tagged};
use crate::auth::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::credential_binding::{self, CredentialUse};
use crate::ending::{Ending, end_all};
use crate::forge;
use crate::gatekeeper::{Gatekeeper, trusted_settings};
use crate::quarantine::{Leave, Requested, requested, to_the_end};
use crate::refusal::Refusal;
use crate::regate::regate;
use crate::server::Server;
use crate::set_approvals::let_all_fall;
use crate::sync::{FetchPlan, SyncRequest, internal, queue_run};
use crate::tell;

/// Why a credential was bound when nobody asked for it in so many words.
const FIRST_USE: &str = "it was used for the first time";

fn answer(repository: &Repository) -> RepositoryEnvelope {
    RepositoryEnvelope { gitops_repository: info(repository) }
}

/// A repository of the caller's account.
pub(crate) async fn find(reading: &mut Reading, who: &Identity, id: &str) -> Result<Repository, Refusal> {
    reading.repository(&who.account_id, id).await?.ok_or_else(Refusal::not_found)
}

pub(super) async fn list(State(server): State<Server>, who: Identity) -> Answer {
    let mut reading = server.store().read().await?;
    ok(&RepositoryList { gitops_repositories: load_all(&mut reading, &who).await? })
}

/// The repositories of the caller's account, by name.
pub(crate) async fn load_all(reading: &mut Reading, who: &Identity) -> Result<Vec<RepositoryInfo>, Refusal> {
    Ok(reading.repositories(&who.account_id).await?.iter().map(info).collect())
}

pub(super) async fn show(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, &who, &id).await?;
    drop(reading);
    tagged(ok(&answer(&repository)), repository.version)
}

/// A repository of the caller's account, as answers show it.
pub(crate) async fn load(reading: &mut Reading, who: &Identity, id: &str) -> Result<RepositoryInfo, Refusal> {
    Ok(info(&find(reading, who, id).await?))
}

pub(super) async fn create(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<RepositoryBody>,
) -> Answer {
    let stored = register(&server, &who, body.gitops_repository).await?;
    let version = stored.version;
    tagged(created(&RepositoryEnvelope { gitops_repository: stored }), version)
}

/// Registers a repository and, if it is enabled, syncs it for the first time.
pub(crate) async fn register(
    server: &Control,
    who: &Identity,
    fields: RepositoryFields,
) -> Result<RepositoryInfo, Refusal> {
    let now = now();
    let config = server.config();
    let repository = new_repository(&who.account_id, fields, config, now)?;
    let first_uses = credential_binding::first_uses(server, who, &repository, None).await?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    gatekeeper.check_repository_change(who, RepositoryChange::Register(&trusted_settings(&repository)))?;
    if writing.repository(&who.account_id, &repository.name).await?.is_some() {
        let message = format!("there is a repository named {}", repository.name);
        return Err(Refusal::conflict("taken", message, "choose another name"));
    }
    writing.repository_add(&repository).await?;
    credential_binding::bind(&mut writing, who, &first_uses, FIRST_USE).await?;
    if repository.enabled {
        let request = SyncRequest::new(Trigger::Request, Some(&who.email));
        queue_run(&mut writing, &repository, &request, now).await?;
        writing.repository_schedule(&repository.id, now.after(repository.interval)).await?;
    }
    record(&mut writing, who, "repository.register", &repository, shown(&repository), now);
    let stored = find(&mut writing, who, &repository.id).await?;
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    Ok(info(&stored))
}

async fn load_gatekeeper(reading: &mut Reading, account_id: &str) -> Result<Gatekeeper, Refusal> {
    let account = reading.account(account_id).await?.ok_or_else(Refusal::not_found)?;
    Ok(Gatekeeper::before_approvals(&account))
}

/// Whether what was read of a repository is not what it would read now.
fn reads_elsewhere(before: &Repository, after: &Repository) -> bool {
    fn source(it: &Repository) -> [Option<&str>; 4] {
        let Repository { repo_url, branch, path_prefix, signers, .. } = it;
        [Some(repo_url), Some(branch), Some(path_prefix), signers.as_deref()]
    }
    source(before) != source(after)
}

/// What the audit log keeps of a repository's configuration.
fn shown(repository: &Repository) -> Value {
    json!({
        "name": repository.name, "repo_url": repository.repo_url, "branch": repository.branch,
        "path_prefix": repository.path_prefix, "vault_credential_path": repository.credential_path,
        "enabled": repository.enabled, "auto_apply": repository.auto_apply,
        "reconcile_interval_seconds": repository.interval.as_secs(),
        "requires_signature": repository.signers.is_some(), "forge": repository.forge,
    })
}

/// Notes what was done to a repository.
pub(super) fn record(
    writing: &mut AccountWriting,
    who: &Identity,
    action: &'static str,
    repository: &Repository,
    detail: Value,
    now: windlass_core::time::Timestamp,
) {
    writing.audit(tell::entry(&who.actor(), action, ("repository", &repository.name), detail.clone(), now));
    let (kind, word) = match action {
        "repository.register" => ("gitops.repository_registered", "registered"),
        "repository.remove" => ("gitops.repository_removed", "removed"),
        "repository.move" => ("gitops.repository_moved", "moved"),
        _ => ("gitops.repository_changed", "changed"),
    };
    let message = format!("{} {word} the repository {}", who.email, repository.name);
    writing.event(tell::repository_event(kind, Severity::Low, repository, &who.email, message, detail, now));
}

pub(super) async fn change(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
    if_match: IfMatch,
    Body(body): Body<RepositoryBody>,
) -> Answer {
    let stored = configure(&server, &who, &id, &if_match, body.gitops_repository).await?;
    let version = stored.version;
    tagged(ok(&RepositoryEnvelope { gitops_repository: stored }), version)
}

/// What decides where something is told, and what.
fn place_to_tell(repository: &Repository) -> (Option<ForgeSettings>, String) {
    (repository.forge.clone(), repository.repo_url.clone())
}

/// What has to be bound before a repository can be used as it would be after a change.
async fn first_uses_after(
    server: &Control,
    who: &Identity,
    id: &str,
    fields: &RepositoryFields,
) -> Result<Vec<CredentialUse>, Refusal> {
    let before = find(&mut server.store().read().await?, who, id).await?;
    let mut after = before.clone();
    change_repository(&mut after, fields.clone(), server.config())?;
    credential_binding::first_uses(server, who, &after, Some(&before)).await
}

/// Changes what is given of a repository and syncs it soon.
pub(crate) async fn configure(
    server: &Control,
    who: &Identity,
    id: &str,
    if_match: &IfMatch,
    fields: RepositoryFields,
) -> Result<RepositoryInfo, Refusal> {
    let now = now();
    // Credentials are looked at before the transaction begins: nobody waits for Vault in one.
    let first_uses = first_uses_after(server, who, id, &fields).await?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let mut repository = find(&mut writing, who, id).await?;
    if_match.check(repository.version)?;
    let (was_good, told) = (repository.good_commit.clone(), place_to_tell(&repository));
    if repository.left_by.is_some() {
        let message = format!("{} is what a repository left behind when it moved", repository.name);
        let help =
            "it is never fetched: decide about its destroys, move the repository back, or remove this one";
        return Err(Refusal::conflict("left-behind", message, help));
    }
    let before = repository.clone();
    change_repository(&mut repository, fields, server.config())?;
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    let (old, new) = (trusted_settings(&before), trusted_settings(&repository));
    gatekeeper.check_repository_change(who, RepositoryChange::Change { before: &old, after: &new })?;
    repository.updated_at = now;
    repository.next_sync_at = now;
    let taken = writing.repository(&who.account_id, &repository.name).await?;
    if taken.is_some_and(|taken| taken.id != repository.id) {
        return Err(Refusal::conflict("taken", "another repository has this name", "choose another"));
    }
    if !writing.repository_configure(&repository).await? {
        return Err(Refusal::precondition());
    }
    credential_binding::bind(&mut writing, who, &first_uses, FIRST_USE).await?;
    if was_good.is_some() && repository.good_commit.is_none() {
        writing.repository_unread(&repository.id).await?;
    }
    if reads_elsewhere(&before, &repository) {
        // Whoever trusts the repository from now on trusts what it reads now.
        withdraw_all(&mut writing, who, &repository, "the repository reads from elsewhere now").await?;
    }
    match told == place_to_tell(&repository) {
        true => writing.forge_reports_retry(&repository.id, now).await.map(|_| ())?,
        // Where it is told now, nothing was told yet.
        false => writing.forge_reports_remove(&repository.id).await?,
    }
    record(&mut writing, who, "repository.change", &repository, shown(&repository), now);
    // Its proposals may need no approval any more.
    regate(&mut writing, now).await?;
    let stored = find(&mut writing, who, &repository.id).await?;
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    server.nudges().apply.notify_one();
    Ok(info(&stored))
}

pub(super) async fn remove(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    unregister(&server, &who, &id).await?;
    done()
}

/// Removes a repository. What it owned stays as it is, owned by nobody.
pub(crate) async fn unregister(server: &Control, who: &Identity, id: &str) -> Result<(), Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id).await?;
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    let owned = writing.resources_owned(&who.account_id, &repository.id).await?;
    let settings = trusted_settings(&repository);
    gatekeeper.check_repository_change(who, RepositoryChange::Remove { settings: &settings, owned })?;
    withdraw_all(&mut writing, who, &repository, "the repository was removed").await?;
    withdraw_direct(&mut writing, who, &repository, "the repository that owned it was removed").await?;
    record(&mut writing, who, "repository.remove", &repository, json!({}), now);
    writing.repository_remove(&repository.id).await?;
    server.commit(writing).await?;
    // The mirrors are only caches; one that stays behind does no harm.
    let _ = tokio::fs::remove_dir_all(server.mirror_directory(&repository.id)).await;
    let _ = tokio::fs::remove_dir_all(server.preview_directory(&repository.id)).await;
    Ok(())
}

/// Ends every open proposal of a repository of the transaction's account, and what was approved ahead of its plan.
pub(super) async fn withdraw_all(
    writing: &mut AccountWriting,
    who: &Identity,
    repository: &Repository,
    reason: &str,
) -> Result<(), Refusal> {
    let filter = ProposalFilter { repository_id: Some(repository.id.clone()), ..ProposalFilter::default() };
    withdraw_open(writing, who, filter, reason).await?;
    let_all_fall(writing, repository, reason, &who.actor(), now()).await?;
    Ok(())
}

/// Ends every direct change that waits of what a repository owns which leaves the transaction's account: the rules that
/// it was to pass are about nothing then.
pub(super) async fn withdraw_direct(
    writing: &mut AccountWriting,
    who: &Identity,
    repository: &Repository,
    reason: &str,
) -> Result<(), Refusal> {
    let filter = ProposalFilter { owner_id: Some(repository.id.clone()), ..ProposalFilter::default() };
    withdraw_open(writing, who, filter, reason).await
}

async fn withdraw_open(
    writing: &mut AccountWriting,
    who: &Identity,
    filter: ProposalFilter,
    reason: &str,
) -> Result<(), Refusal> {
    let filter = ProposalFilter { statuses: vec![Status::PendingApproval, Status::Approved], ..filter };
    let account_id = writing.account_id().to_owned();
    let open = writing.proposals(&account_id, &filter, None, i32::MAX as usize).await?;
    let endings: Vec<Ending<'_>> = open
        .iter()
        .map(|proposal| Ending { by: &who.email, ..Ending::new(proposal, Status::Withdrawn, Some(reason)) })
        .collect();
    end_all(writing, &endings, None, now()).await?;
    Ok(())
}

pub(super) async fn forget_host_keys(
    State(server): State<Server>,
    who: Identity,
    Path(id): Path<String>,
) -> Answer {
    ok(&RepositoryEnvelope { gitops_repository: forget(&server, &who, &id).await? })
}

/// Forgets the pinned SSH host keys of a repository.
pub(crate) async fn forget(server: &Control, who: &Identity, id: &str) -> Result<RepositoryInfo, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let mut repository = find(&mut writing, who, id).await?;
    let with_keys = repository.clone();
    let before = repository.host_keys.take();
    let gatekeeper = load_gatekeeper(&mut writing, &who.account_id).await?;
    let (old, new) = (trusted_settings(&with_keys), trusted_settings(&repository));
    gatekeeper.check_repository_change(who, RepositoryChange::Change { before: &old, after: &new })?;
    repository.updated_at = now;
    writing.repository_configure(&repository).await?;
    let detail = json!({"forgotten": before.is_some()});
    record(&mut writing, who, "repository.forget_host_keys", &repository, detail, now);
    let stored = find(&mut writing, who, &repository.id).await?;
    server.commit(writing).await?;
    Ok(info(&stored))
}

pub(super) async fn probe(
    State(server): State<Server>,
    who: Identity,
    Body(body): Body<RepositoryBody>,
) -> Answer {
    ok(&examine_new(&server, &who, body.gitops_repository).await?)
}

/// Tests the connection of a repository that is not registered.
pub(crate) async fn examine_new(
    server: &Control,
    who: &Identity,
    fields: RepositoryFields,
) -> Result<RepositoryTest, Refusal> {
    let repository = new_repository(&who.account_id, fields, server.config(), now())?;
    examine(server, who, Requested::Test(repository)).await
}

pub(super) async fn test(State(server): State<Server>, who: Identity, Path(id): Path<String>) -> Answer {
    ok(&examine_registered(&server, &who, &id).await?)
}

/// Tests the connection of a repository.
pub(crate) async fn examine_registered(
    server: &Control,
    who: &Identity,
    id: &str,
) -> Result<RepositoryTest, Refusal> {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, who, id).await?;
    drop(reading);
    examine(server, who, Requested::Of(repository)).await
}

/// Walks from the credential to fleet.yaml and tells what is wrong where.
async fn examine(server: &Control, who: &Identity, asked: Requested) -> Result<RepositoryTest, Refusal> {
    let (config, account, repository) = (server.config(), &who.account_name, asked.repository());
    let plan = FetchPlan::without_credential(repository, config.insecure_git, config.fetch_limits)?;
    bind_tested(server, who, repository).await?;
    let plan = plan.with_credential(repository, account, server).await;
    let mut checks = vec![credential_check(repository, plan.as_ref().err())];
    if let Ok(plan) = plan {
        let turn = server.remote_turns().take(&who.account_id).await?;
        let found = to_the_end(turn, walk(server.clone(), asked.clone(), plan)).await?;
        checks.extend(found.into_iter().map(|check| check_info(check, who, repository)));
    }
    if let Some(settings) = &repository.forge {
        let _turn = server.remote_turns().take(&who.account_id).await?;
        checks.push(forge::examine(repository, settings, account, server).await);
    }
    record_test(server, who, repository, &checks).await?;
    let ok_all = checks.iter().all(|check| check.outcome == CheckOutcome::Passed);
    Ok(RepositoryTest { ok: ok_all, checks })
}

/// Tries the steps on the way to a fleet, on a thread that may block.
async fn walk(server: Control, asked: Requested, plan: FetchPlan) -> Result<Vec<Check>, Refusal> {
    let work = |leave: Leave| {
        let server = server.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _leave = leave;
            test_remote(&plan.options(&server), &plan.prefix, server.config().unreached_after)
        });
        async move { task.await.map_err(|panic| internal(&panic).into()) }
    };
    requested(&server, &asked, work, |found: &Result<Vec<Check>, Refusal>| match found {
        Ok(checks) if checks.iter().all(|check| check.result != CheckResult::NotReached) => {
            WorkEnd::ReadThrough
        }
        _ => WorkEnd::Failed,
    })
    .await
}

/// An admin who tests a credential uses it. What may not be used is told by the test itself.
async fn bind_tested(server: &Control, who: &Identity, repository: &Repository) -> Result<(), Refusal> {
    let uses = credential_binding::first_uses(server, who, repository, None).await.unwrap_or_default();
    if uses.is_empty() {
        return Ok(());
    }
    let mut writing = server.store().write_account(&who.account_id).await?;
    credential_binding::bind(&mut writing, who, &uses, FIRST_USE).await?;
    Ok(server.commit(writing).await?)
}

/// A test reaches out to a host that someone named, so it is on the record.
async fn record_test(
    server: &Control,
    who: &Identity,
    repository: &Repository,
    checks: &[CheckInfo],
) -> Result<(), Refusal> {
    let failed = checks.iter().find(|check| check.outcome == CheckOutcome::Failed);
    let detail = json!({
        "repo_url": repository.repo_url, "vault_credential_path": repository.credential_path,
        "forge": repository.forge, "ok": failed.is_none(), "failed_step": failed.map(|check| &check.step),
    });
    let mut writing = server.store().write_account(&who.account_id).await?;
    let target = ("repository", repository.name.as_str());
    writing.audit(tell::entry(&who.actor(), "repository.test", target, detail, now()));
    Ok(server.commit(writing).await?)
}

/// A step as answers show it. Why a host cannot be reached is in the log, and shown to admins alone.
fn check_info(check: Check, who: &Identity, repository: &Repository) -> CheckInfo {
    let (outcome, message, help) = match check.result {
        CheckResult::Passed(found) => (CheckOutcome::Passed, found, String::new()),
        CheckResult::NotReached => (CheckOutcome::NotReached, String::new(), String::new()),
        CheckResult::Failed { reason, help, detail: None } => (CheckOutcome::Failed, reason, help),
        CheckResult::Failed { reason, help, detail: Some(cause) } => {
            tracing::info!(
                repository = repository.name,
                step = check.name,
                cause,
                "a test could not reach its host"
            );
            let may_know = who.permissions.contains(&Permission::GitopsAdmin);
            let message = if may_know { format!("{reason}: {cause}") } else { reason };
            (CheckOutcome::Failed, message, help)
        }
    };
    CheckInfo { step: check.name.to_owned(), outcome, message, help }
}

fn credential_check(repository: &Repository, error: Option<&RunError>) -> CheckInfo {
    let (outcome, message, help) = match (error, &repository.credential_path) {
        (Some(error), _) => (CheckOutcome::Failed, error.message.clone(), error.help.clone()),
        (None, Some(path)) => (CheckOutcome::Passed, format!("{path} is there"), String::new()),
        (None, None) => (CheckOutcome::Passed, "none is configured".to_owned(), String::new()),
    };
    CheckInfo { step: "credential".to_owned(), outcome, message, help }
}
