//! `windlass sync`, and waiting for runs.

use std::time::{Duration, Instant};

use serde_json::Value;
use windlass_api::client::ApiCall;
use windlass_api::endpoint::Operation;
use windlass_api::types::{RepositoryEnvelope, RepositoryInfo, RunEnvelope, RunInfo, SyncBody};
use windlass_core::run::RunStatus;

use super::remote::ServerConnection;
use crate::args::gitops::SyncOptions;
use crate::exit::{CommandError, Exit};
use crate::view;
use crate::view::progress::WaitIndicator;

/// Seconds the server may hold an answer back. Short, so that each new stage is seen.
const SERVER_WAIT_SECONDS: &str = "2";

/// Between two questions when the server answers at once.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// When to stop waiting for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WaitUntil {
    /// It has compared, or failed.
    Compared,
    /// Each of its proposals was applied, rejected or is gone.
    Closed,
}

pub(super) fn run(options: &SyncOptions, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let body =
        SyncBody { confirm_mass_destroy: options.confirm_mass_destroy, commit: options.commit.clone() };
    let call = remote.call(Operation::RepositorySync, &[&options.repo]).body(&body);
    let until = if options.watch { WaitUntil::Closed } else { WaitUntil::Compared };
    finish(call, until, remote)
}

/// Waits for the first run of a repository that was just registered.
pub(super) fn first(repository: &RepositoryInfo, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let mut progress = WaitIndicator::start();
    let mut known = repository.last_run_id.clone();
    while known.is_none() {
        progress.tell("waiting for the first sync")?;
        remote.pause(POLL_INTERVAL);
        let again: RepositoryEnvelope =
            remote.get(remote.call(Operation::RepositoryShow, &[&repository.id]))?;
        known = again.gitops_repository.last_run_id;
    }
    drop(progress);
    let id = known.unwrap_or_default();
    finish(remote.call(Operation::RunShow, &[&id]), WaitUntil::Compared, remote)
}

fn finish(call: ApiCall<'_>, until: WaitUntil, remote: &ServerConnection) -> Result<Exit, CommandError> {
    let answer = wait(call, until, remote)?;
    let shown =
        remote.show::<RunEnvelope>(&answer, |shown, terminal| view::run::one(&shown.sync_run, terminal))?;
    Ok(exit(&shown.sync_run))
}

/// How a command ends that waited for a run.
pub(super) fn exit(run: &RunInfo) -> Exit {
    match run.error.is_some() || run.status == RunStatus::Failed || !run.failed_actions.is_empty() {
        true => Exit::Problems,
        false => Exit::Fine,
    }
}

fn wait(first: ApiCall<'_>, until: WaitUntil, remote: &ServerConnection) -> Result<Value, CommandError> {
    let mut progress = WaitIndicator::start();
    let mut asked = Instant::now();
    let mut answer = remote.ask(first.query("wait", SERVER_WAIT_SECONDS))?;
    loop {
        let envelope: RunEnvelope = remote.read(&answer)?;
        let Some(waiting_for) = waiting_for(&envelope.sync_run, until) else { return Ok(answer) };
        progress.tell(&waiting_for)?;
        if asked.elapsed() < POLL_INTERVAL {
            remote.pause(POLL_INTERVAL);
        }
        asked = Instant::now();
        answer = remote.ask(
            remote.call(Operation::RunShow, &[&envelope.sync_run.id]).query("wait", SERVER_WAIT_SECONDS),
        )?;
    }
}

/// What is still waited for; nothing when the wait is over.
fn waiting_for(run: &RunInfo, until: WaitUntil) -> Option<String> {
    if run.status == RunStatus::InProgress {
        return Some(format!("{}: {}", run.repository_name, run.stage));
    }
    let open = run.proposals.iter().filter(|proposal| proposal.status.is_open()).count();
    if until == WaitUntil::Compared || open == 0 {
        return None;
    }
    let reasons =
        if run.waiting_for.is_empty() { "not applied yet".to_owned() } else { run.waiting_for.join("; ") };
    Some(format!("{}: {} open: {reasons}", run.repository_name, view::pluralize(open, "proposal")))
}
