//! Previews pull requests that forges reported: plans each against the accepted state and reports the result to the forge.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::fairness::{LastResult, WorkerSlots};
use windlass_core::quarantine::{CrashHistory, QuarantinableWork, TrustLevel, WorkEnd};
use windlass_core::repository::Repository;
use windlass_core::time::Timestamp;
use windlass_store::{PendingPullRequest, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::limits::isolation::WorkPermit;
use crate::outside::forge::outbox::report_preview;
use crate::outside::forge::preview_report::PullRequestPreview;
use crate::outside::preview;
use crate::pace::workers::{QueuedJob, Workers};
use crate::pace::{LoopPace, WaitResult};
use crate::work::error::PreviewError;
use crate::work::tracked::{BeginResult, QuarantineReport, begin, quarantine_work, refusal};

/// The name of this loop in problems and metrics.
const PART: &str = "pull requests";

/// How many are read at a time: enough to find one of each account that has some.
const READ_AT_ONCE: usize = 200;

/// How many are previewed at the same time: one per account, so that a slow git server delays only its own account, and fewer
/// than there are preview permits, so that people who request a preview get one.
const PREVIEW_SLOTS: WorkerSlots = WorkerSlots { all: 3, reserved: 0, per_account: 1, unproven: 1 };

/// Longer than a preview takes, so that no other server previews the same pull request.
const LEASE: Duration = Duration::from_secs(300);

/// Pauses after failed attempts. A forge may report a commit shortly before it can be fetched.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(15), Duration::from_secs(60), Duration::from_secs(300)];

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().intervals.schedule;
    let mut workers = Workers::new(PREVIEW_SLOTS);
    let pace = LoopPace { part: PART, nudge: &server.nudges().pull_requests, interval };
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(&server, &mut workers).await;
        if pace.wait_for_next_turn(&server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
    workers.finish().await;
}

/// Starts the previews that are due.
async fn turn(server: &Control, workers: &mut Workers) -> Result<(), StoreError> {
    let busy = workers.busy_lanes();
    let latest = now().plus(PAUSES[PAUSES.len() - 1] * 2);
    let due = server.store().read().await?.pull_requests_due(now(), latest, READ_AT_ONCE).await?;
    let waiting = due.into_iter().map(|pending| QueuedJob {
        account: pending.account_id.clone(),
        lane: pending.repository_id.to_string(),
        last_result: if pending.attempts == 0 { LastResult::Proven } else { LastResult::Unproven },
        task: pending,
    });
    let work = |pending: PendingPullRequest| {
        let server = server.clone();
        async move { preview_under_lease(&server, &pending).await }
    };
    let server = server.clone();
    workers.begin(waiting.collect(), &busy, work, move |attempt| match attempt {
        Ok(PullRequestWorker::Taken) => server.nudges().pull_requests.notify_one(),
        // It is still due in a later turn.
        Ok(PullRequestWorker::Elsewhere) => {}
        Err(error) => drop(server.report_problem(PART, &error)),
    });
    Ok(())
}

/// Which server previews a pull request.
enum PullRequestWorker {
    /// This server.
    Taken,
    /// Another server.
    Elsewhere,
}

async fn preview_under_lease(
    server: &Control,
    pending: &PendingPullRequest,
) -> Result<PullRequestWorker, StoreError> {
    let name = pending.subject().key();
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(PullRequestWorker::Elsewhere);
    };
    let attempt = preview_pull_request(server, pending).await;
    server.store().lease_release(&lease).await?;
    attempt.map(|()| PullRequestWorker::Taken)
}

async fn preview_pull_request(server: &Control, pending: &PendingPullRequest) -> Result<(), StoreError> {
    let repository =
        server.store().read().await?.repository(&pending.account_id, pending.repository_id.as_str()).await?;
    let Some(repository) = repository else { return Ok(()) };
    if let Some(held) = &repository.quarantines.pull_requests {
        return report_preview(server, &repository, pending, &PullRequestPreview::Nothing(refusal(held)))
            .await;
    }
    let counted = match begin(server, pending.subject()).await? {
        BeginResult::Begun(counted) => counted,
        BeginResult::Quarantined(suspicion) => {
            return quarantine_pull_requests(server, &repository, pending, suspicion).await;
        }
    };
    crash_point("preview.begun");
    let (attempt, end) = preview_of(server, &repository, pending, counted.permit()).await?;
    // Ended before the report: nothing after this reads content that was pushed.
    let suspicion = counted.end(server, end).await?;
    if suspicion.trust_level() == TrustLevel::Quarantined {
        return quarantine_pull_requests(server, &repository, pending, suspicion).await;
    }
    match attempt {
        PreviewAttempt::Ended(preview) => report_preview(server, &repository, pending, &preview).await,
        PreviewAttempt::RetryAfter(pause) => reschedule(server, pending, now().plus(pause)).await,
    }
}

/// The outcome of an attempt.
enum PreviewAttempt {
    Ended(PullRequestPreview),
    RetryAfter(Duration),
}

async fn preview_of(
    server: &Control,
    repository: &Repository,
    pending: &PendingPullRequest,
    permit: WorkPermit,
) -> Result<(PreviewAttempt, WorkEnd), StoreError> {
    // Previews the current commit of the reference, which may be newer than the reported one.
    Ok(match preview::preview_reference(server, repository, &pending.reference, permit).await {
        Ok(preview) => {
            (PreviewAttempt::Ended(PullRequestPreview::Plan(Box::new(preview))), WorkEnd::ReadThrough)
        }
        Err(PreviewError::Store(error)) => return Err(error),
        Err(PreviewError::Busy | PreviewError::Stopping) => {
            (PreviewAttempt::RetryAfter(PAUSES[0]), WorkEnd::Untried)
        }
        Err(PreviewError::Failed(error)) => match next_try(pending.attempts) {
            Some(pause) => (PreviewAttempt::RetryAfter(pause), WorkEnd::Failed),
            None => (PreviewAttempt::Ended(PullRequestPreview::Nothing(error)), WorkEnd::Failed),
        },
    })
}

/// Quarantines all pull requests of the repository, because the person who opened this one can open another.
async fn quarantine_pull_requests(
    server: &Control,
    repository: &Repository,
    pending: &PendingPullRequest,
    suspicion: CrashHistory,
) -> Result<(), StoreError> {
    let held = QuarantineReport {
        work: QuarantinableWork::PullRequests,
        subject: pending.subject(),
        doing: format!("planning its pull request {}", pending.number),
        detail: json!({"pull_request": pending.number, "commit_sha": pending.commit_sha}),
    };
    let held = quarantine_work(server, repository, held, suspicion).await?;
    report_preview(server, repository, pending, &PullRequestPreview::Nothing(refusal(&held))).await
}

/// How long to wait after this many attempts; none if no attempt is left.
fn next_try(attempts: i64) -> Option<Duration> {
    usize::try_from(attempts).ok().and_then(|nth| PAUSES.get(nth)).copied()
}

async fn reschedule(
    server: &Control,
    pending: &PendingPullRequest,
    until: Timestamp,
) -> Result<(), StoreError> {
    let mut writing = server.store().write().await?;
    writing.pull_request_reschedule(pending, until).await?;
    writing.commit().await
}
