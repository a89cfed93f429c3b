//! Fetches the revision of a preview into a separate mirror.

use windlass_core::account::Account;
use windlass_core::manifest::ReadContext;
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_source::{CommitId, Credential, RemoteScheme, Revision};

use crate::control::Control;
use crate::flow::sync::fetch::FetchPlan;
use crate::flow::sync::fetch_commit::{FetchCommitError, FetchedCommit, fetch_commit, read_fleet_at_commit};
use crate::limits::isolation::WorkPermit;
use crate::outside::preview::fetched_fleet::FetchedFleet;
use crate::work::error::PreviewError;
use crate::work::on_demand::wait_for_lease;

/// The help for invalid references.
pub(crate) const REFERENCE_HELP: &str =
    "give a branch, such as `main`, or a full reference, such as `refs/pull/7/head`";

/// Parses the id of a commit.
pub(crate) fn commit_id(text: &str) -> Result<CommitId, RunError> {
    CommitId::parse(text).ok_or_else(|| {
        let message = "a commit must be its full id: 40 lower-case hexadecimal digits";
        RunError::new("bad-commit", message, "`git rev-parse HEAD` prints it")
    })
}

/// Fetches a revision and reads its fleet. Only one at a time for each repository, over all servers.
pub(crate) async fn fetch_and_read(
    server: &Control,
    account: &Account,
    repository: &Repository,
    (revision, expected): (Revision, Option<CommitId>),
    (context, permit): (ReadContext, WorkPermit),
) -> Result<FetchedFleet, PreviewError> {
    let mut stopping = server.watch_stopping();
    let plan = tokio::select! {
        plan = FetchPlan::of(repository, &account.name, server) => plan?,
        _ = stopping.wait_for(|is_stopping| *is_stopping) => return Err(PreviewError::Stopping),
    };
    check_host_keys(&plan)?;
    let plan = FetchPlan { revision, since: None, ..plan };
    let lease = wait_for_lease(server, &format!("preview:{}", repository.id), plan.limits.time).await?;
    let fetched_commit = fetch_commit(server, &plan, server.preview_directory(&repository.id), permit).await;
    let fleet = match fetched_commit {
        Err(FetchCommitError::Interrupted) => Err(PreviewError::Stopping),
        Err(FetchCommitError::Failed(error) | FetchCommitError::Transient(error)) => Err(error.into()),
        Ok(fetched_commit) => {
            read(fetched_commit, plan, expected, context).await.map_err(PreviewError::Failed)
        }
    };
    server.release_lease(&lease).await;
    fleet
}

/// Reads the fetched commit if it is the expected one. The caller holds the lease of the mirror meanwhile.
async fn read(
    fetched_commit: FetchedCommit,
    plan: FetchPlan,
    expected: Option<CommitId>,
    context: ReadContext,
) -> Result<FetchedFleet, RunError> {
    let commit = fetched_commit.fetched.commit.clone();
    if let Some(expected) = expected.filter(|expected| *expected != commit) {
        return Err(moved(&plan.revision, &commit, &expected));
    }
    let refusals = fetched_commit.signature.iter().filter_map(|signature| signature.as_ref().err());
    let notes = refusals.map(|problem| format!("a sync would refuse this commit: {problem}")).collect();
    let contributors = fetched_commit.contributors.clone();
    let fleet_at_commit = read_fleet_at_commit(fetched_commit, plan, context).await?;
    Ok(FetchedFleet { fleet_at_commit, commit: Some(commit.to_string()), contributors, notes })
}

/// A preview pins no host keys, so it connects only to hosts whose keys are known.
fn check_host_keys(plan: &FetchPlan) -> Result<(), RunError> {
    let has_known_hosts = matches!(&plan.credential, Credential::SshKey { known_hosts: Some(_), .. });
    if plan.url.scheme() == RemoteScheme::Ssh && plan.host_keys.is_none() && !has_known_hosts {
        let message = "the host's keys are not pinned yet, and a preview does not pin keys";
        return Err(RunError::new("host-keys-unpinned", message, "sync the repository first"));
    }
    Ok(())
}

fn moved(revision: &Revision, found: &CommitId, expected: &CommitId) -> RunError {
    let message = format!("{revision} is at {found}, not at {expected}");
    RunError::new("ref-moved", message, "request a preview of the current commit")
}
