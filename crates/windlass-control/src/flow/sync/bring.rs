//! Bringing a commit here and reading its fleet, for runs and for previews. Decides nothing and writes no row. What was
//! brought keeps the leave under which it was: whoever reads it works under that, too.

use std::path::PathBuf;
use std::time::Instant;

use windlass_core::gate::Contributors;
use windlass_core::manifest::Context;
use windlass_core::run::RunError;
use windlass_core::tell::error_chain;
use windlass_source::{CommitInfo, FetchError, Fetched, Mirror, SignatureProblem, SignedBy};

use crate::control::Control;
use crate::failure::internal;
use crate::flow::sync::fetch::FetchPlan;
use crate::flow::sync::material::Material;
use crate::limits::company::Leave;
use crate::metrics::{self, Outcome};

/// A commit that is in a mirror.
pub(crate) struct Brought {
    pub(crate) mirror: Mirror,
    pub(crate) fetched: Fetched,
    pub(crate) commit: CommitInfo,
    /// Everyone who had a hand in it since the commit of the last good run, as far as the mirror knows.
    pub(crate) contributors: Contributors,
    /// Who signed it, or why that does not count; none if the repository asks for no signature.
    pub(crate) signature: Option<Result<SignedBy, SignatureProblem>>,
    _leave: Leave,
}

/// Why there is none.
pub(crate) enum BringError {
    /// Something is wrong.
    Failed(RunError),
    /// The server could not do it just now; nothing is wrong with the repository.
    Passing(RunError),
    /// The server stops.
    Interrupted,
}

/// Fetches into the mirror in a directory, on a thread that may block.
pub(crate) async fn bring(
    server: &Control,
    plan: &FetchPlan,
    directory: PathBuf,
    leave: Leave,
) -> Result<Brought, BringError> {
    let (server, plan) = (server.clone(), plan.clone());
    let task = tokio::task::spawn_blocking(move || {
        let local = |message: String| {
            let help = "check the server's data directory: space, permissions, mount";
            BringError::Failed(RunError::new("local", message, help))
        };
        let mirror = Mirror::open_or_create(&directory).map_err(|error| local(error_chain(&error)))?;
        let begun = Instant::now();
        let fetched = plan.fetch(&mirror, &server);
        let bytes = fetched.as_ref().map_or(0, |fetched| fetched.received_bytes);
        metrics::fetch(Outcome::of(&fetched), bytes, begun.elapsed());
        let fetched = fetched.map_err(|error| match server.is_stopping() {
            true => BringError::Interrupted,
            false => {
                if let Some(cause) = error.problem.detail() {
                    tracing::info!(url = %plan.url, cause, "a git server could not be reached");
                }
                not_fetched(&error)
            }
        })?;
        let commit = mirror.commit(&fetched.commit).map_err(|error| local(error_chain(&error)))?;
        let contributors = mirror
            .contributors(&fetched.commit, plan.since.as_ref())
            .map_err(|error| local(error_chain(&error)))?;
        let signature = plan.signers.as_ref().map(|signers| mirror.verify(&fetched.commit, signers));
        Ok(Brought { mirror, fetched, commit, contributors, signature, _leave: leave })
    });
    task.await.unwrap_or_else(|panic| Err(BringError::Failed(internal(&panic))))
}

/// What a fetch that failed means.
pub(crate) fn not_fetched(error: &FetchError) -> BringError {
    let said = RunError::new(error.code(), error_chain(error), error.help());
    match error.problem.is_passing() {
        true => BringError::Passing(said),
        false => BringError::Failed(said),
    }
}

/// Reads the fleet of a commit, on a thread that may block.
pub(crate) async fn read_material(
    brought: Brought,
    plan: FetchPlan,
    context: Context,
) -> Result<Material, RunError> {
    let task = tokio::task::spawn_blocking(move || {
        let tree = brought.mirror.tree(&brought.fetched.commit, &plan.prefix).map_err(|error| {
            RunError::new("local", error_chain(&error), "check the server's data directory")
        })?;
        Ok(Material::read(&tree, &context, plan.prefix.as_str()))
    });
    task.await.unwrap_or_else(|panic| Err(internal(&panic)))
}
