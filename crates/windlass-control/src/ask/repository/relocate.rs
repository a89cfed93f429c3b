//! Moving a repository to another account.
//!
//! The fleet's file must name the new account first, so that every resource belongs to an account. In the old account, a
//! placeholder repository that declares nothing becomes the owner of the repository's resources: their destroys are guarded,
//! proposed and approved there like any others. When the repository moves back, it owns these resources again, and Windlass
//! withdraws the destroys. Both accounts change in one transaction.

use std::collections::BTreeSet;

use serde_json::json;
use windlass_api::permission::{Permission, Role};
use windlass_api::types::RepositoryInfo;
use windlass_core::account::Account;
use windlass_core::code::{Code, ProblemSeverity};
use windlass_core::diagnostic::Diagnostic;
use windlass_core::gate::{RepositoryChange, why_approver_required};
use windlass_core::id::AccountId;
use windlass_core::proposal::CloseReason;
use windlass_core::repository::{LastStatus, Repository};
use windlass_core::run::Trigger;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Reading, new_id};

use crate::account_state::accepted;
use crate::ask::credential_binding;
use crate::ask::repository::fields::info;
use crate::ask::repository::find::find;
use crate::ask::repository::record::record;
use crate::ask::repository::withdraw::{withdraw_all, withdraw_direct};
use crate::caller::Identity;
use crate::clock::now;
use crate::config::ControlConfig;
use crate::control::Control;
use crate::flow::sync::queue::{SyncRequest, queue_run};
use crate::outside::preview;
use crate::refusal::Refusal;

/// How many characters of a repository's name its placeholder keeps, so that the suffix fits.
const NAME_KEPT: usize = 50;

/// How many names are tried for a placeholder.
const NAMES_TRIED: usize = 1_000;

/// Moves a repository to another account.
pub async fn relocate_to(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    account: &str,
) -> Result<RepositoryInfo, Refusal> {
    let moving = check(server, who, id_or_name, account).await?;
    let mut writing = server.store().write_accounts(&who.account_id, &moving.target.id).await?;
    move_repository(&mut writing, who, &moving, server.config()).await?;
    writing.switch_account(&moving.target.id);
    let moved = writing.repository(&moving.target.id, moving.repository.id.as_str()).await?;
    let moved = moved.ok_or_else(Refusal::not_found)?;
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    server.nudges().apply.notify_one();
    Ok(info(&moved))
}

/// A move that passed the checks.
struct RepositoryMove {
    repository: Repository,
    target: Account,
    /// The commit whose file names the new account.
    commit: Option<String>,
}

/// Checks everything that can be checked before the transaction.
async fn check(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    account: &str,
) -> Result<RepositoryMove, Refusal> {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, who, id_or_name).await?;
    let target = reading.account(account).await?.ok_or_else(Refusal::not_found)?;
    if target.id == who.account_id {
        return Err(Refusal::unprocessable("senseless", "it is already in that account", ""));
    }
    if repository.left_by.is_some() {
        let message =
            format!("{} is a placeholder for a repository that moved to another account", repository.name);
        let help = "move the original repository back instead, or remove this one";
        return Err(Refusal::conflict("left-behind", message, help));
    }
    check_permissions(&mut reading, who, &repository, &target).await?;
    let home = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let context = accepted::reading_context(&mut reading, &target).await?;
    drop(reading);
    let read = preview::read_branch(server, &home, &repository, context).await?;
    if let Some(note) = read.notes.first() {
        return Err(Refusal::conflict("unsigned", note, "push a commit that a sync accepts to the branch"));
    }
    check_file(&read.fleet_at_commit.problems, &target)?;
    Ok(RepositoryMove { repository, target, commit: read.commit })
}

/// Checks that the caller may change repositories in both accounts, and may approve where a policy requires an approver: its
/// rules approve the repository's changes automatically, or would apply to something else after the move.
async fn check_permissions(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
    target: &Account,
) -> Result<(), Refusal> {
    let there = permissions_in(reading, who, target).await?;
    require_permission(&who.permissions, Permission::GitopsWrite, &who.account_name)?;
    require_permission(&there, Permission::GitopsWrite, &target.name)?;
    let home = reading.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let settings = &repository.trusted_settings();
    let owned = reading.resources_owned(&home.id, &repository.id).await?;
    if why_approver_required(&home.bound_policy(), RepositoryChange::Remove { settings, owned }).is_some() {
        require_permission(&who.permissions, Permission::GitopsApprove, &home.name)?;
    }
    let policy = target.bound_policy();
    let left = reading.repository_left_behind(&target.id, &repository.id).await?;
    // The repository takes over the placeholder's resources, and the rules about the repository then apply to them.
    let why_for_placeholder = left.as_ref().and_then(|left| {
        let before = &left.trusted_settings();
        why_approver_required(&policy, RepositoryChange::Change { before, after: settings })
    });
    if why_approver_required(&policy, RepositoryChange::Register(settings)).or(why_for_placeholder).is_some()
    {
        require_permission(&there, Permission::GitopsApprove, &target.name)?;
    }
    Ok(())
}

/// The caller's permissions in the other account.
async fn permissions_in(
    reading: &mut Reading,
    who: &Identity,
    account: &Account,
) -> Result<BTreeSet<Permission>, Refusal> {
    let member = reading.member(&account.id, who.user_id.as_str()).await?;
    let role = member.map(|member| member.role);
    Ok(role.map(Role::permissions).unwrap_or_default())
}

fn require_permission(
    given: &BTreeSet<Permission>,
    needed: Permission,
    account: &str,
) -> Result<(), Refusal> {
    match given.contains(&needed) {
        true => Ok(()),
        false => Err(Refusal::forbidden(
            format!("moving this repository needs the permission {needed} in the account {account}"),
            "ask an admin of that account for a role that has it",
        )),
    }
}

/// Checks that the fleet's file names the new account and has no errors there.
fn check_file(problems: &[Diagnostic], target: &Account) -> Result<(), Refusal> {
    let errors = || problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error);
    if let Some(problem) = errors().find(|problem| problem.code == Code::AccountMismatch) {
        let place = format!("{}:{}:{}", problem.file, problem.line, problem.column);
        let message =
            format!("{place}: the file does not name the account {}: {}", target.name, problem.message);
        let help = format!("write `account: {}` there, push it, then move the repository", target.name);
        return Err(Refusal::conflict(Code::AccountMismatch.slug(), message, help));
    }
    let errors: Vec<Diagnostic> = errors().cloned().collect();
    if errors.is_empty() { Ok(()) } else { Err(Refusal::invalid_resource(&errors)) }
}

/// Moves the repository, in one transaction of both accounts.
async fn move_repository(
    writing: &mut AccountWriting,
    who: &Identity,
    moving: &RepositoryMove,
    config: &ControlConfig,
) -> Result<(), Refusal> {
    let (now, target) = (now(), &moving.target);
    let repository = find(writing, who, moving.repository.id.as_str()).await?;
    if repository.version != moving.repository.version {
        return Err(Refusal::changed_meanwhile());
    }
    // Checked again in the transaction: the repository's resources and both policies may have changed meanwhile.
    let target_now = writing.account(target.id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    check_permissions(writing, who, &repository, &target_now).await?;
    let taken = writing.repository(&target.id, &repository.name).await?;
    if taken.is_some() {
        let message = format!("a repository named {} exists in {}", repository.name, target.name);
        return Err(Refusal::conflict("taken", message, "rename one of them first"));
    }
    let reason = &CloseReason::RepositoryMoved;
    withdraw_all(writing, who, &repository, reason).await?;
    withdraw_direct(writing, who, &repository, reason).await?;
    let left = create_placeholder(writing, who, &repository, now).await?;
    writing.repository_move(&repository, &target.id, now).await?;
    let left = left.map(|left| left.name);
    let detail = json!({"to": target.name, "commit_sha": moving.commit, "left_behind": left});
    record(writing, who, "repository.move", &repository, detail, now);

    writing.switch_account(&target.id);
    credential_binding::bind_after_move(writing, who, &repository, (&target.id, config)).await?;
    let returned = remove_placeholder(writing, who, &repository, now).await?;
    let detail = json!({"from": who.account_name, "commit_sha": moving.commit, "takes_back": returned});
    record(writing, who, "repository.move", &repository, detail, now);
    let arrived = Repository { account_id: target.id.clone(), ..repository };
    if arrived.enabled {
        queue_run(writing, &arrived, &SyncRequest::new(Trigger::Request, Some(&who.email)), now).await?;
    }
    Ok(())
}

/// Creates a placeholder that owns the repository's resources without declaring them, and queues a run that proposes their
/// destroys. Returns none if the repository owns nothing.
async fn create_placeholder(
    writing: &mut AccountWriting,
    who: &Identity,
    repository: &Repository,
    now: Timestamp,
) -> Result<Option<Repository>, Refusal> {
    if writing.resources_owned(&who.account_id, &repository.id).await? == 0 {
        return Ok(None);
    }
    let left = Repository {
        id: new_id(),
        name: free_name(writing, &who.account_id, &repository.name).await?,
        enabled: false,
        auto_apply: false,
        forge: None,
        left_by: Some(repository.id.clone()),
        last_status: LastStatus::Pending,
        created_at: now,
        ..repository.clone()
    };
    writing.repository_add(&left).await?;
    writing.resources_change_owner(&who.account_id, &repository.id, &left.id).await?;
    queue_run(writing, &left, &SyncRequest::new(Trigger::Revert, Some(&who.email)), now).await?;
    Ok(Some(left))
}

async fn free_name(reading: &mut Reading, account_id: &AccountId, name: &str) -> Result<String, Refusal> {
    let beginning: String = name.chars().take(NAME_KEPT).collect();
    for number in 1..=NAMES_TRIED {
        let name = match number {
            1 => format!("{beginning}-moved"),
            number => format!("{beginning}-moved-{number}"),
        };
        if reading.repository(account_id, &name).await?.is_none() {
            return Ok(name);
        }
    }
    let message = format!("all names like {beginning}-moved are taken in this account");
    Err(Refusal::conflict("taken", message, "remove some of those repositories first"))
}

/// Gives a repository that moves back the resources of its placeholder, withdraws their destroys and removes the placeholder.
/// Returns the placeholder's name.
async fn remove_placeholder(
    writing: &mut AccountWriting,
    who: &Identity,
    repository: &Repository,
    now: Timestamp,
) -> Result<Option<String>, Refusal> {
    let account_id = writing.account_id().clone();
    let Some(left) = writing.repository_left_behind(&account_id, &repository.id).await? else {
        return Ok(None);
    };
    let reason = &CloseReason::RepositoryReturned;
    withdraw_all(writing, who, &left, reason).await?;
    withdraw_direct(writing, who, &left, reason).await?;
    writing.resources_change_owner(&account_id, &left.id, &repository.id).await?;
    record(writing, who, "repository.remove", &left, json!({"because": "it returned"}), now);
    writing.repository_remove(&left.id).await?;
    Ok(Some(left.name))
}
