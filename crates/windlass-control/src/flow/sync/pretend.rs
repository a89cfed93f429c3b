//! For tests: a run that reads from a fake remote instead of git, and is compared and saved like any other.

use std::time::Duration;

use windlass_core::gate::Contributors;
use windlass_core::repository::Repository;
use windlass_core::run::{Run, RunError};
use windlass_source::SentFiles;
use windlass_store::StoreError;

use crate::account_state::accepted;
use crate::clock::now;
use crate::control::Control;
use crate::flow::sync::fleet_at_commit::{FleetAtCommit, FleetOrigin};
use crate::flow::sync::run::{FetchedInput, fleet_error, stored_input};
use crate::flow::sync::run_lease::RunLease;
use crate::flow::sync::save;

/// Longer than any test.
const LEASE: Duration = Duration::from_secs(600);

/// A commit of a fake remote.
#[derive(Clone, Debug)]
pub struct FakeCommit {
    /// Its id.
    pub id: String,
    /// Its fleet.yaml.
    pub fleet: String,
    /// Whether an allowed signer signed it.
    pub is_signed: bool,
    /// Its contributors.
    pub contributors: Contributors,
}

/// Works on a run as the sync loop does, except for the fetch.
pub async fn pretend_run(
    server: &Control,
    mut run: Run,
    remote: impl Fn(&Repository) -> Option<FakeCommit>,
) -> Result<(), StoreError> {
    let name = format!("sync:{}", run.repository_id);
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(());
    };
    let mut reading = server.store().read().await?;
    let repository = reading.repository(&run.account_id, run.repository_id.as_str()).await?;
    drop(reading);
    let Some(repository) = repository else { return Ok(()) };
    let mut writing = server.store().write_account(&run.account_id).await?;
    writing.run_begin(&run.id, now()).await?;
    server.commit(writing).await?;
    let commit = remote(&repository);
    match gather(server, &mut run, &repository, commit).await? {
        FetchedInput::Known(known, _turn) => {
            save::save_comparison(server, &mut run, &repository, RunLease::lease(&lease), known).await?;
        }
        FetchedInput::Failed(error, problems) => {
            save::save_failed(server, &mut run, Some(&repository), RunLease::lease(&lease), error, problems)
                .await?;
        }
        FetchedInput::Later => {}
    }
    server.store().lease_release(&lease).await
}

async fn gather(
    server: &Control,
    run: &mut Run,
    repository: &Repository,
    commit: Option<FakeCommit>,
) -> Result<FetchedInput, StoreError> {
    if !run.trigger.fetches() {
        return stored_input(server, run, repository).await;
    }
    let fail = |code: &str| Ok(FetchedInput::Failed(RunError::new(code, code, ""), Vec::new()));
    let Some(commit) = commit else { return fail("branch-missing") };
    run.commit_sha = Some(commit.id.clone());
    run.contributors = commit.contributors;
    if repository.signers.is_some() && !commit.is_signed {
        return fail("unsigned");
    }
    if repository.good_commit.as_deref() == Some(&commit.id) {
        return stored_input(server, run, repository).await;
    }
    let mut reading = server.store().read().await?;
    let account = reading.account(run.account_id.as_str()).await?;
    let Some(account) = account else { return fail("account-missing") };
    let context = accepted::reading_context(&mut reading, &account).await?;
    drop(reading);
    let files = [("fleet.yaml".to_owned(), commit.fleet.into_bytes())];
    let Ok(tree) = SentFiles::new(files, []) else { return fail("files") };
    let fleet_at_commit = FleetAtCommit::read(&tree, &context, "");
    if fleet_at_commit.has_errors() {
        let error = fleet_error(&fleet_at_commit.problems);
        return Ok(FetchedInput::Failed(error, fleet_at_commit.problems));
    }
    let turn = server.reading_permit(&run.account_id).await;
    Ok(FetchedInput::Known(FleetOrigin::Read(Box::new(fleet_at_commit)), turn))
}
