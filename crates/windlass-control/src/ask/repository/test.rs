//! Testing whether a repository can be used.

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_api::types::{CheckInfo, CheckOutcome, RepositoryFields, RepositoryTest};
use windlass_core::quarantine::WorkEnd;
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_source::{CheckResult, ConnectionCheck, test_remote};

use crate::ask::credential_binding;
use crate::ask::repository::fields::new_repository;
use crate::ask::repository::find::find;
use crate::ask::repository::register::FIRST_USE;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::failure::panic_error;
use crate::flow::sync::fetch::FetchPlan;
use crate::limits::isolation::WorkPermit;
use crate::outside::forge::target;
use crate::record;
use crate::refusal::Refusal;
use crate::work::on_demand::{OnDemandWork, run_on_demand, run_to_completion};

/// Tests the connection of a repository that is not registered.
pub async fn test_unregistered(
    server: &Control,
    who: &Identity,
    fields: RepositoryFields,
) -> Result<RepositoryTest, Refusal> {
    let repository = new_repository(&who.account_id, fields, server.config(), now())?;
    test_repository(server, who, OnDemandWork::Test(repository)).await
}

/// Tests the connection of a repository.
pub async fn test_registered(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
) -> Result<RepositoryTest, Refusal> {
    let mut reading = server.store().read().await?;
    let repository = find(&mut reading, who, id_or_name).await?;
    drop(reading);
    test_repository(server, who, OnDemandWork::ReadsRepository(repository)).await
}

/// Tests each step from the credential to fleet.yaml and returns the result of each.
async fn test_repository(
    server: &Control,
    who: &Identity,
    test: OnDemandWork,
) -> Result<RepositoryTest, Refusal> {
    let (config, account, repository) = (server.config(), &who.account_name, test.repository());
    let plan = FetchPlan::without_credential(repository, config.insecure_git, config.fetch_limits)?;
    bind_tested(server, who, repository).await?;
    let plan = plan.with_credential(repository, account, server).await;
    let mut checks = vec![credential_check(repository, plan.as_ref().err())];
    if let Ok(plan) = plan {
        let turn = server.remote_permits().take(&who.account_id).await?;
        let found = run_to_completion(turn, test_steps(server.clone(), test.clone(), plan)).await?;
        checks.extend(found.into_iter().map(|check| check_info(check, who, repository)));
    }
    if let Some(settings) = &repository.forge {
        let _turn = server.remote_permits().take(&who.account_id).await?;
        checks.push(target::test_connection(repository, settings, account, server).await);
    }
    record_test(server, who, repository, &checks).await?;
    let ok_all = checks.iter().all(|check| check.outcome == CheckOutcome::Passed);
    Ok(RepositoryTest { ok: ok_all, checks })
}

/// Tests the steps from the connection to fleet.yaml, on a thread that may block.
async fn test_steps(
    server: Control,
    test: OnDemandWork,
    plan: FetchPlan,
) -> Result<Vec<ConnectionCheck>, Refusal> {
    let work = |permit: WorkPermit| {
        let server = server.clone();
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            test_remote(&plan.options(&server), &plan.prefix, server.config().unreached_after)
        });
        async move { task.await.map_err(|panic| panic_error(&panic).into()) }
    };
    run_on_demand(&server, &test, work, |found: &Result<Vec<ConnectionCheck>, Refusal>| match found {
        Ok(checks) if checks.iter().all(|check| check.result != CheckResult::NotReached) => {
            WorkEnd::ReadThrough
        }
        _ => WorkEnd::Failed,
    })
    .await
}

/// Binds the credentials that an admin tests: testing is a use. If a credential may not be used, the test reports it.
async fn bind_tested(server: &Control, who: &Identity, repository: &Repository) -> Result<(), Refusal> {
    let uses = credential_binding::missing_bindings(server, who, repository, None).await.unwrap_or_default();
    if uses.is_empty() {
        return Ok(());
    }
    let mut writing = server.store().write_account(&who.account_id).await?;
    credential_binding::bind(&mut writing, who, &uses, FIRST_USE).await?;
    Ok(server.commit(writing).await?)
}

/// Records the test in the audit log, because the server connects to a host that the caller named.
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
    writing.audit(record::audit_entry(&who.actor(), "repository.test", target, detail, now()));
    Ok(server.commit(writing).await?)
}

/// A step as responses show it. Why a host cannot be reached is in the log, and only admins see it in the response.
fn check_info(check: ConnectionCheck, who: &Identity, repository: &Repository) -> CheckInfo {
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
        (None, Some(path)) => (CheckOutcome::Passed, format!("{path} exists"), String::new()),
        (None, None) => (CheckOutcome::Passed, "none is configured".to_owned(), String::new()),
    };
    CheckInfo { step: "credential".to_owned(), outcome, message, help }
}
