//! One run, from start to end.

use std::time::{Duration, Instant};

use serde_json::json;
use tracing::field::Empty;
use tracing::{Instrument as _, Span};
use windlass_core::account::Account;
use windlass_core::code::ProblemSeverity;
use windlass_core::diagnostic::Diagnostic;
use windlass_core::event::{EventKind, Severity};
use windlass_core::gate::{Contributor, ContributorRole};
use windlass_core::id::RepositoryId;
use windlass_core::manifest::ReadContext;
use windlass_core::quarantine::{WorkEnd, WorkSubject};
use windlass_core::repository::Repository;
use windlass_core::run::{Run, RunError, RunStatus};
use windlass_source::{Movement, SignedBy};
use windlass_store::{Lease, StoreError};

use crate::account_state::accepted;
use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::flow::sync::fetch::FetchPlan;
use crate::flow::sync::fetch_commit::{FetchCommitError, FetchedCommit, fetch_commit, read_fleet_at_commit};
use crate::flow::sync::fleet_at_commit::FleetOrigin;
use crate::flow::sync::run_lease::RunLease;
use crate::flow::sync::save;
use crate::limits::fair_permits::FairPermit;
use crate::limits::isolation::WorkPermit;
use crate::spans::SPANS;
use crate::work::tracked::{BeginResult, begin};
use crate::{metrics, record};

/// How long a lease is valid without renewal. The work of a crashed replica waits at most this long for another
/// replica.
const LEASE_DURATION: Duration = Duration::from_secs(30);

/// How often the lease is renewed.
const LEASE_RENEW_INTERVAL: Duration = Duration::from_secs(10);

/// Whether a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunEnd {
    /// It ended.
    Finished,
    /// Another replica has it, the database failed or the server is stopping. The run will start again.
    Later,
}

/// Works on a run under its repository's lease.
pub(crate) async fn run_sync(server: &Control, mut run: Run) -> RunEnd {
    let name = format!("sync:{}", run.repository_id);
    let lease = match server.store().lease_take(&name, server.holder(), now(), LEASE_DURATION).await {
        Ok(Some(lease)) => lease,
        Ok(None) => return RunEnd::Later,
        Err(error) => {
            server.report_problem("sync", &error);
            return RunEnd::Later;
        }
    };
    let (begun, span) = (Instant::now(), span_of(&run));
    let worked = tokio::select! {
        worked = finish(server, &mut run, &lease).instrument(span.clone()) => worked,
        () = renew_lease(server, &lease) => Err(StoreError::LeaseLost { name }),
    };
    if worked.is_ok() && run.status != RunStatus::InProgress {
        span.record("windlass.status", run.status.slug());
        metrics::sync_run(run.status.slug(), begun.elapsed());
    }
    // If the release fails, the lease expires.
    let _ = server.store().lease_release(&lease).await;
    match worked {
        Ok(ended) => ended,
        Err(error) => {
            server.report_problem("sync", &error);
            RunEnd::Later
        }
    }
}

fn span_of(run: &Run) -> Span {
    tracing::trace_span!(
        target: SPANS,
        "sync",
        windlass.run_id = run.id.as_str(),
        windlass.repository_id = run.repository_id.as_str(),
        windlass.trigger = run.trigger.slug(),
        windlass.status = Empty,
    )
}

/// Renews a lease until it is lost.
async fn renew_lease(server: &Control, lease: &Lease) {
    loop {
        tokio::time::sleep(LEASE_RENEW_INTERVAL).await;
        if let Ok(false) = server.store().lease_renew(lease, now(), LEASE_DURATION).await {
            return;
        }
    }
}

async fn finish(server: &Control, run: &mut Run, lease: &Lease) -> Result<RunEnd, StoreError> {
    let mut reading = server.store().read().await?;
    let Some(current) = reading.run(&run.account_id, &run.id).await? else { return Ok(RunEnd::Finished) };
    if current.status != RunStatus::InProgress {
        return Ok(RunEnd::Finished);
    }
    let repository = reading.repository(&run.account_id, run.repository_id.as_str()).await?;
    let account = reading.account(run.account_id.as_str()).await?;
    let (Some(repository), Some(account)) = (repository, account) else {
        let error = RunError::new("repository-removed", "the repository was removed", "");
        save::save_failed(server, run, None, RunLease::lease(lease), error, Vec::new()).await?;
        return Ok(RunEnd::Finished);
    };
    drop(reading);
    if let Some(held) = &repository.quarantines.sync {
        save::end_quarantined(server, run, &repository, lease, held).await?;
        return Ok(RunEnd::Finished);
    }
    let counted = match begin(server, WorkSubject::Sync(&repository.id)).await? {
        BeginResult::Begun(counted) => counted,
        BeginResult::Quarantined(suspicion) => {
            save::quarantine_sync(server, run, &repository, lease, suspicion).await?;
            return Ok(RunEnd::Finished);
        }
    };
    note_begin(server, run).await?;
    crash_point("sync.begun");
    match fetch_and_read(server, run, &account, &repository, lease, &counted.permit()).await? {
        FetchedInput::Known(known, _turn) => {
            crash_point("sync.read");
            let compare = tracing::trace_span!(target: SPANS, "sync.compare");
            let holding = RunLease { lease, work: Some((&counted, WorkEnd::ReadThrough)) };
            save::save_comparison(server, run, &repository, holding, known).instrument(compare).await?;
            counted.mark_recorded();
            Ok(RunEnd::Finished)
        }
        FetchedInput::Later => {
            counted.end(server, WorkEnd::Untried).await?;
            Ok(RunEnd::Later)
        }
        FetchedInput::Failed(error, problems) => {
            // Only a fleet that was read has problems.
            let end = if problems.is_empty() { WorkEnd::Failed } else { WorkEnd::ReadThrough };
            let holding = RunLease { lease, work: Some((&counted, end)) };
            save::save_failed(server, run, Some(&repository), holding, error, problems).await?;
            counted.mark_recorded();
            Ok(RunEnd::Finished)
        }
    }
}

/// Stores that a run began. Only the first attempt adds the event, however often a server crashes.
async fn note_begin(server: &Control, run: &Run) -> Result<(), StoreError> {
    let mut writing = server.store().write_account(&run.account_id).await?;
    let now = now();
    writing.keep_state();
    writing.run_begin(&run.id, now).await?;
    if run.attempt == 0 {
        let message = format!("sync of {} started", run.repository_name);
        let payload = json!({"trigger": run.trigger.slug()});
        writing.event(record::run_event(EventKind::SyncStarted, Severity::Low, run, message, payload, now));
    }
    server.commit(writing).await
}

/// The input of a run's comparison.
pub(crate) enum FetchedInput {
    /// With the permit to read and compare, which is held until both are done.
    Known(FleetOrigin, FairPermit),
    Failed(RunError, Vec<Diagnostic>),
    /// The server is stopping or has a transient problem: the run will start again, and the repository's status does
    /// not change.
    Later,
}

/// Fetches and reads the fleet that the run compares.
async fn fetch_and_read(
    server: &Control,
    run: &mut Run,
    account: &Account,
    repository: &Repository,
    lease: &Lease,
    permit: &WorkPermit,
) -> Result<FetchedInput, StoreError> {
    if !run.trigger.fetches() || repository.left_by.is_some() {
        return stored_input(server, run, repository).await;
    }
    let mut stopping = server.watch_stopping();
    let plan = tokio::select! {
        plan = FetchPlan::of(repository, &account.name, server) => plan,
        _ = stopping.wait_for(|is_stopping| *is_stopping) => return Ok(FetchedInput::Later),
    };
    let plan = match plan {
        Ok(plan) => plan,
        Err(error) => return Ok(FetchedInput::Failed(error, Vec::new())),
    };
    let fetch = tracing::trace_span!(target: SPANS, "sync.fetch");
    let fetching = fetch_commit(server, &plan, server.mirror_directory(&repository.id), permit.clone());
    let fetched_commit = match fetching.instrument(fetch).await {
        Ok(fetched_commit) => fetched_commit,
        Err(error) => return Ok(fetch_failed(error, &repository.id)),
    };
    crash_point("sync.fetched");
    note_commit(run, &fetched_commit);
    if let Some(keys) = &fetched_commit.fetched.new_host_keys {
        save::pin_host_keys(server, run, repository, lease, keys).await?;
    }
    match &fetched_commit.signature {
        None => {}
        Some(Ok(signed_by)) => run.contributors.add(signer_of(signed_by)),
        Some(Err(problem)) => {
            let error = RunError::new(problem.code(), problem.to_string(), signature_help());
            return Ok(FetchedInput::Failed(error, Vec::new()));
        }
    }
    save::save_fetched(server, run, fetched_commit.fetched.movement).await?;
    if fetched_commit.fetched.movement == Movement::Unchanged {
        return stored_input(server, run, repository).await;
    }
    let mut reading = server.store().read().await?;
    let context = accepted::reading_context(&mut reading, account).await?;
    drop(reading);
    let turn = server.reading_permit(&run.account_id).await;
    let reading = read(fetched_commit, plan, context, turn);
    Ok(reading.instrument(tracing::trace_span!(target: SPANS, "sync.read")).await)
}

/// The input of a run whose commit could not be fetched.
fn fetch_failed(error: FetchCommitError, repository_id: &RepositoryId) -> FetchedInput {
    match error {
        FetchCommitError::Failed(error) => FetchedInput::Failed(error, Vec::new()),
        FetchCommitError::Interrupted => FetchedInput::Later,
        FetchCommitError::Transient(error) => {
            tracing::warn!(
                repository_id = repository_id.as_str(),
                cause = error.message,
                "a sync is postponed"
            );
            FetchedInput::Later
        }
    }
}

/// The signers, by the e-mail addresses of the key in the list of signers, or by its name there if it has none.
fn signer_of(signed_by: &SignedBy) -> Vec<Contributor> {
    let words = signed_by.name.split(|c: char| c.is_whitespace() || matches!(c, ',' | '<' | '>'));
    let addresses: Vec<&str> = words.filter(|word| word.contains('@')).collect();
    let people = if addresses.is_empty() { vec![signed_by.name.as_str()] } else { addresses };
    people.into_iter().filter_map(|person| Contributor::new(ContributorRole::Signer, person)).collect()
}

fn signature_help() -> &'static str {
    "sign the commit with one of the repository's allowed_signers, or add the signer's public key there"
}

/// The commit that was stored at the last good run, with the problems found then.
pub(crate) async fn stored_input(
    server: &Control,
    run: &mut Run,
    repository: &Repository,
) -> Result<FetchedInput, StoreError> {
    if repository.left_by.is_some() {
        // Left behind when the repository moved to another account: it declares nothing.
        return Ok(FetchedInput::Known(FleetOrigin::Stored, server.reading_permit(&run.account_id).await));
    }
    let mut reading = server.store().read().await?;
    let Some(good) = &repository.good_run_id else {
        let error = RunError::new("never-synced", "this repository was never synced", "sync it first");
        return Ok(FetchedInput::Failed(error, Vec::new()));
    };
    // The stored state is from the repository's previous source, not from the current one.
    if repository.good_commit.is_none() && !reading.desired(&repository.id).await?.is_empty() {
        let error = RunError::new(
            "source-changed",
            "this repository was not synced since its source changed",
            "sync it first",
        );
        return Ok(FetchedInput::Failed(error, Vec::new()));
    }
    if let Some(good) = reading.run(&run.account_id, good).await? {
        run.problems = good.problems;
        run.contributors = good.contributors;
        if run.commit_sha.is_none() {
            run.commit_sha = repository.good_commit.clone();
            run.commit_author = good.commit_author;
            run.commit_email = good.commit_email;
            run.commit_subject = good.commit_subject;
            run.commit_message = good.commit_message;
        }
    }
    drop(reading);
    Ok(FetchedInput::Known(FleetOrigin::Stored, server.reading_permit(&run.account_id).await))
}

fn note_commit(run: &mut Run, fetched_commit: &FetchedCommit) {
    run.commit_sha = Some(fetched_commit.fetched.commit.as_str().to_owned());
    run.commit_author = Some(fetched_commit.commit.author_name.clone());
    run.commit_email = Some(fetched_commit.commit.author_email.clone());
    run.commit_subject = Some(fetched_commit.commit.subject.clone());
    run.commit_message = Some(fetched_commit.commit.message.clone());
    run.contributors = fetched_commit.contributors.clone();
    run.movement = Some(fetched_commit.fetched.movement);
}

/// Reads the fleet of the commit.
async fn read(
    fetched_commit: FetchedCommit,
    plan: FetchPlan,
    context: ReadContext,
    turn: FairPermit,
) -> FetchedInput {
    match read_fleet_at_commit(fetched_commit, plan, context).await {
        Err(error) => FetchedInput::Failed(error, Vec::new()),
        Ok(fleet_at_commit) if fleet_at_commit.has_errors() => {
            let error = fleet_error(&fleet_at_commit.problems);
            FetchedInput::Failed(error, fleet_at_commit.problems)
        }
        Ok(fleet_at_commit) => FetchedInput::Known(FleetOrigin::Read(Box::new(fleet_at_commit)), turn),
    }
}

/// The first error of a fleet, and how many more there are.
pub(crate) fn fleet_error(problems: &[Diagnostic]) -> RunError {
    let errors: Vec<&Diagnostic> =
        problems.iter().filter(|problem| problem.severity == ProblemSeverity::Error).collect();
    let Some(first) = errors.first() else { return RunError::new("fleet", "the fleet has errors", "") };
    let place = match first.line {
        0 => first.file.clone(),
        line => format!("{}:{line}:{}", first.file, first.column),
    };
    let more = match errors.len() {
        1 => String::new(),
        count => format!(" (and {} more)", count - 1),
    };
    let separator = if place.is_empty() { "" } else { ": " };
    let help = first.help.clone().unwrap_or_default();
    RunError::new(first.code.slug(), format!("{place}{separator}{}{more}", first.message), help)
}

#[cfg(test)]
mod tests {
    use windlass_source::FetchError;
    use windlass_source::RemoteProblem;

    use super::*;
    use crate::flow::sync::fetch_commit::classify_fetch_error;

    fn gathered(problem: RemoteProblem) -> FetchedInput {
        let error = FetchError { remote: "https://example.com/fleet".to_owned(), problem };
        fetch_failed(classify_fetch_error(&error), &RepositoryId::new("a repository"))
    }

    #[test]
    fn a_transient_problem_of_the_server_fails_no_run() {
        // A postponed run does not change its repository's status: only a failed run holds its proposals.
        assert!(matches!(gathered(RemoteProblem::ServerMemory), FetchedInput::Later));
        let too_large = gathered(RemoteProblem::TooLarge { reason: "it unpacks to more".to_owned() });
        assert!(matches!(too_large, FetchedInput::Failed(error, _) if error.code == "too-large"));
    }
}
