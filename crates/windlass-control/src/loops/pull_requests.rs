//! Looks at pull requests that forges told of: each is planned against the accepted state, and its forge is told.

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

/// What is in trouble when a turn fails.
const PART: &str = "pull requests";

/// Read at a time: enough to find one of every account that has some.
const READ_AT_ONCE: usize = 200;

/// Looked at at the same time: one of an account, so that a slow server keeps only its own account waiting, and fewer than
/// there are turns for previews, so that people who ask for one get theirs.
const PREVIEW_SLOTS: WorkerSlots = WorkerSlots { all: 3, reserved: 0, per_account: 1, unproven: 1 };

/// Longer than looking takes, so that no other server looks at the same.
const LEASE: Duration = Duration::from_secs(300);

/// Pauses after looking failed. A forge may tell of a commit a moment before it can be fetched.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(15), Duration::from_secs(60), Duration::from_secs(300)];

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let interval = server.config().intervals.schedule;
    let mut workers = Workers::new(PREVIEW_SLOTS);
    let pace = LoopPace { part: PART, nudge: &server.nudges().pull_requests, interval };
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(&server, &mut workers).await;
        if pace.rest(&server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
    workers.finish().await;
}

/// Begins to look at what is due.
async fn turn(server: &Control, workers: &mut Workers) -> Result<(), StoreError> {
    let under_way = workers.lanes_under_way();
    let latest = now().plus(PAUSES[PAUSES.len() - 1] * 2);
    let due = server.store().read().await?.pull_requests_due(now(), latest, READ_AT_ONCE).await?;
    let waiting = due.into_iter().map(|wish| QueuedJob {
        account: wish.account_id.clone(),
        lane: wish.repository_id.to_string(),
        last_result: if wish.attempts == 0 { LastResult::Proven } else { LastResult::Unproven },
        task: wish,
    });
    let work = |wish: PendingPullRequest| {
        let server = server.clone();
        async move { look_under_lease(&server, &wish).await }
    };
    let server = server.clone();
    workers.begin(waiting.collect(), &under_way, work, move |looked| match looked {
        Ok(PullRequestWorker::Taken) => server.nudges().pull_requests.notify_one(),
        // It is tried again when it is time.
        Ok(PullRequestWorker::Elsewhere) => {}
        Err(error) => drop(server.report_problem(PART, &error)),
    });
    Ok(())
}

/// Who looks at a pull request.
enum PullRequestWorker {
    /// This server did.
    Taken,
    /// Another one does.
    Elsewhere,
}

async fn look_under_lease(
    server: &Control,
    wish: &PendingPullRequest,
) -> Result<PullRequestWorker, StoreError> {
    let name = wish.subject().key();
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(PullRequestWorker::Elsewhere);
    };
    let looked = preview_pull_request(server, wish).await;
    server.store().lease_release(&lease).await?;
    looked.map(|()| PullRequestWorker::Taken)
}

async fn preview_pull_request(server: &Control, wish: &PendingPullRequest) -> Result<(), StoreError> {
    let repository =
        server.store().read().await?.repository(&wish.account_id, wish.repository_id.as_str()).await?;
    let Some(repository) = repository else { return Ok(()) };
    if let Some(held) = &repository.quarantines.pull_requests {
        return report_preview(server, &repository, wish, &PullRequestPreview::Nothing(refusal(held))).await;
    }
    let counted = match begin(server, wish.subject()).await? {
        BeginResult::Begun(counted) => counted,
        BeginResult::Quarantined(suspicion) => {
            return quarantine_pull_requests(server, &repository, wish, suspicion).await;
        }
    };
    crash_point("preview.begun");
    let (looked, end) = preview_of(server, &repository, wish, counted.leave()).await?;
    // Before it is told: from here on nothing of what was pushed is looked at.
    let suspicion = counted.end(server, end).await?;
    if suspicion.trust_level() == TrustLevel::Quarantined {
        return quarantine_pull_requests(server, &repository, wish, suspicion).await;
    }
    match looked {
        PreviewAttempt::Foreseen(foreseen) => report_preview(server, &repository, wish, &foreseen).await,
        PreviewAttempt::Later(pause) => reschedule(server, wish, now().plus(pause)).await,
    }
}

/// What came of looking.
enum PreviewAttempt {
    Foreseen(PullRequestPreview),
    Later(Duration),
}

async fn preview_of(
    server: &Control,
    repository: &Repository,
    wish: &PendingPullRequest,
    leave: WorkPermit,
) -> Result<(PreviewAttempt, WorkEnd), StoreError> {
    // Where it leads by now is what is worth knowing: it may have moved since it was told of.
    Ok(match preview::preview_reference(server, repository, &wish.reference, leave).await {
        Ok(preview) => {
            (PreviewAttempt::Foreseen(PullRequestPreview::Plan(Box::new(preview))), WorkEnd::ReadThrough)
        }
        Err(PreviewError::Store(error)) => return Err(error),
        Err(PreviewError::Busy | PreviewError::Stopping) => {
            (PreviewAttempt::Later(PAUSES[0]), WorkEnd::Untried)
        }
        Err(PreviewError::Failed(error)) => match next_try(wish.attempts) {
            Some(pause) => (PreviewAttempt::Later(pause), WorkEnd::Failed),
            None => (PreviewAttempt::Foreseen(PullRequestPreview::Nothing(error)), WorkEnd::Failed),
        },
    })
}

/// Plans no pull request of the repository any more: whoever opened this one can open another.
async fn quarantine_pull_requests(
    server: &Control,
    repository: &Repository,
    wish: &PendingPullRequest,
    suspicion: CrashHistory,
) -> Result<(), StoreError> {
    let held = QuarantineReport {
        work: QuarantinableWork::PullRequests,
        subject: wish.subject(),
        doing: format!("planning its pull request {}", wish.number),
        detail: json!({"pull_request": wish.number, "commit_sha": wish.commit_sha}),
    };
    let held = quarantine_work(server, repository, held, suspicion).await?;
    report_preview(server, repository, wish, &PullRequestPreview::Nothing(refusal(&held))).await
}

/// How long to wait before the next try after so many; nothing if it is given up.
fn next_try(attempts: i64) -> Option<Duration> {
    usize::try_from(attempts).ok().and_then(|nth| PAUSES.get(nth)).copied()
}

async fn reschedule(server: &Control, wish: &PendingPullRequest, until: Timestamp) -> Result<(), StoreError> {
    let mut writing = server.store().write().await?;
    writing.pull_request_reschedule(wish, until).await?;
    writing.commit().await
}
