//! Fetches a commit and reads its fleet, for runs and previews. Decides nothing and writes no row. A fetched commit
//! keeps the work permit of the fetch, so that reading it is covered by the same permit.

use std::path::PathBuf;
use std::time::Instant;

use windlass_core::display::error_chain;
use windlass_core::gate::Contributors;
use windlass_core::manifest::ReadContext;
use windlass_core::run::RunError;
use windlass_source::{CommitInfo, FetchError, FetchResult, Mirror, SignatureProblem, SignedBy};

use crate::control::Control;
use crate::failure::panic_error;
use crate::flow::sync::fetch::FetchPlan;
use crate::flow::sync::fleet_at_commit::FleetAtCommit;
use crate::limits::isolation::WorkPermit;
use crate::metrics::{self, MetricOutcome};

/// A commit that is in a mirror.
pub(crate) struct FetchedCommit {
    pub(crate) mirror: Mirror,
    pub(crate) fetched: FetchResult,
    pub(crate) commit: CommitInfo,
    /// The contributors since the commit of the last good run, as far as the mirror has them.
    pub(crate) contributors: Contributors,
    /// Who signed it, or why the signature does not count; none if the repository requires no signature.
    pub(crate) signature: Option<Result<SignedBy, SignatureProblem>>,
    _permit: WorkPermit,
}

/// Why a commit could not be fetched.
pub(crate) enum FetchCommitError {
    /// The fetch failed with this error.
    Failed(RunError),
    /// The server could not do it at the moment; nothing is wrong with the repository.
    Transient(RunError),
    /// The server is stopping.
    Interrupted,
}

/// Fetches into the mirror in a directory, on a thread that may block.
pub(crate) async fn fetch_commit(
    server: &Control,
    plan: &FetchPlan,
    directory: PathBuf,
    permit: WorkPermit,
) -> Result<FetchedCommit, FetchCommitError> {
    let (server, plan) = (server.clone(), plan.clone());
    let task = tokio::task::spawn_blocking(move || {
        let local = |message: String| {
            let help = "check the server's data directory: space, permissions, mount";
            FetchCommitError::Failed(RunError::new("local", message, help))
        };
        let mirror = Mirror::open_or_create(&directory).map_err(|error| local(error_chain(&error)))?;
        let begun = Instant::now();
        let fetched = plan.fetch(&mirror, &server);
        let bytes = fetched.as_ref().map_or(0, |fetched| fetched.received_bytes);
        metrics::fetch(MetricOutcome::of(&fetched), bytes, begun.elapsed());
        let fetched = fetched.map_err(|error| match server.is_stopping() {
            true => FetchCommitError::Interrupted,
            false => {
                if let Some(cause) = error.problem.detail() {
                    tracing::info!(url = %plan.url, cause, "could not reach a git server");
                }
                classify_fetch_error(&error)
            }
        })?;
        let commit = mirror.commit(&fetched.commit).map_err(|error| local(error_chain(&error)))?;
        let contributors = mirror
            .contributors(&fetched.commit, plan.since.as_ref())
            .map_err(|error| local(error_chain(&error)))?;
        let signature = plan.signers.as_ref().map(|signers| mirror.verify(&fetched.commit, signers));
        Ok(FetchedCommit { mirror, fetched, commit, contributors, signature, _permit: permit })
    });
    task.await.unwrap_or_else(|panic| Err(FetchCommitError::Failed(panic_error(&panic))))
}

/// Classifies the error of a fetch: transient or not.
pub(crate) fn classify_fetch_error(error: &FetchError) -> FetchCommitError {
    let run_error = RunError::new(error.code(), error_chain(error), error.help());
    match error.problem.is_transient() {
        true => FetchCommitError::Transient(run_error),
        false => FetchCommitError::Failed(run_error),
    }
}

/// Reads the fleet of a commit, on a thread that may block.
pub(crate) async fn read_fleet_at_commit(
    commit: FetchedCommit,
    plan: FetchPlan,
    context: ReadContext,
) -> Result<FleetAtCommit, RunError> {
    let task = tokio::task::spawn_blocking(move || {
        let tree = commit.mirror.tree(&commit.fetched.commit, &plan.prefix).map_err(|error| {
            RunError::new("local", error_chain(&error), "check the server's data directory")
        })?;
        Ok(FleetAtCommit::read(&tree, &context, plan.prefix.as_str()))
    });
    task.await.unwrap_or_else(|panic| Err(panic_error(&panic)))
}
