//! Looks at pull requests that forges told of: each is planned against the accepted state, and its forge is told.

use std::time::{Duration, Instant};

use serde_json::json;
use windlass_core::fairness::{Places, Trust};
use windlass_core::quarantine::{Standing, Suspicion, Work, WorkEnd};
use windlass_core::repository::Repository;
use windlass_core::time::Timestamp;
use windlass_store::{PullRequestWish, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::limits::company::Leave;
use crate::outside::forge::foreseen::Foreseen;
use crate::outside::forge::outbox::say_foreseen;
use crate::outside::preview;
use crate::pace::workers::{Job, Workers};
use crate::pace::{Pace, Pause};
use crate::work::counted::{Begin, HeldWork, begin, hold, refusal};
use crate::work::error::PreviewError;

/// What is in trouble when a turn fails.
const PART: &str = "pull requests";

/// Read at a time: enough to find one of every account that has some.
const READ_AT_ONCE: usize = 200;

/// Looked at at the same time: one of an account, so that a slow server keeps only its own account waiting, and fewer than
/// there are turns for previews, so that people who ask for one get theirs.
const PLACES: Places = Places { all: 3, reserved: 0, per_account: 1, unproven: 1 };

/// Longer than looking takes, so that no other server looks at the same.
const LEASE: Duration = Duration::from_secs(300);

/// Pauses after looking failed. A forge may tell of a commit a moment before it can be fetched.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(15), Duration::from_secs(60), Duration::from_secs(300)];

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    let rhythm = server.config().rhythm.schedule;
    let mut workers = Workers::new(PLACES);
    let pace = Pace { part: PART, nudge: &server.nudges().pull_requests, rhythm };
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(&server, &mut workers).await;
        if pace.rest(&server, begun, turned).await == Pause::Stopping {
            break;
        }
    }
    workers.finish().await;
}

/// Begins to look at what is due.
async fn turn(server: &Control, workers: &mut Workers) -> Result<(), StoreError> {
    let under_way = workers.lanes_under_way();
    let latest = now().after(PAUSES[PAUSES.len() - 1] * 2);
    let due = server.store().read().await?.pull_requests_due(now(), latest, READ_AT_ONCE).await?;
    let waiting = due.into_iter().map(|wish| Job {
        account: wish.account_id.clone(),
        lane: wish.repository_id.clone(),
        trust: if wish.attempts == 0 { Trust::Proven } else { Trust::Unproven },
        task: wish,
    });
    let work = |wish: PullRequestWish| {
        let server = server.clone();
        async move { look_under_lease(&server, &wish).await }
    };
    let server = server.clone();
    workers.begin(waiting.collect(), &under_way, work, move |looked| match looked {
        Ok(Turn::Taken) => server.nudges().pull_requests.notify_one(),
        // It is tried again when it is time.
        Ok(Turn::Elsewhere) => {}
        Err(error) => drop(server.report_trouble(PART, &error)),
    });
    Ok(())
}

/// Who looks at a pull request.
enum Turn {
    /// This server did.
    Taken,
    /// Another one does.
    Elsewhere,
}

async fn look_under_lease(server: &Control, wish: &PullRequestWish) -> Result<Turn, StoreError> {
    let name = wish.subject().key();
    let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
        return Ok(Turn::Elsewhere);
    };
    let looked = look(server, wish).await;
    server.store().lease_release(&lease).await?;
    looked.map(|()| Turn::Taken)
}

async fn look(server: &Control, wish: &PullRequestWish) -> Result<(), StoreError> {
    let repository = server.store().read().await?.repository(&wish.account_id, &wish.repository_id).await?;
    let Some(repository) = repository else { return Ok(()) };
    if let Some(held) = &repository.quarantines.pull_requests {
        return say_foreseen(server, &repository, wish, &Foreseen::Nothing(refusal(held))).await;
    }
    let counted = match begin(server, wish.subject()).await? {
        Begin::Begun(counted) => counted,
        Begin::Quarantined(suspicion) => return hold_all(server, &repository, wish, suspicion).await,
    };
    crash_point("preview.begun");
    let (looked, end) = preview_of(server, &repository, wish, counted.leave()).await?;
    // Before it is told: from here on nothing of what was pushed is looked at.
    let suspicion = counted.end(server, end).await?;
    if suspicion.standing() == Standing::Quarantined {
        return hold_all(server, &repository, wish, suspicion).await;
    }
    match looked {
        Looked::Foreseen(foreseen) => say_foreseen(server, &repository, wish, &foreseen).await,
        Looked::Later(pause) => put_off(server, wish, now().after(pause)).await,
    }
}

/// What came of looking.
enum Looked {
    Foreseen(Foreseen),
    Later(Duration),
}

async fn preview_of(
    server: &Control,
    repository: &Repository,
    wish: &PullRequestWish,
    leave: Leave,
) -> Result<(Looked, WorkEnd), StoreError> {
    // Where it leads by now is what is worth knowing: it may have moved since it was told of.
    Ok(match preview::of_ref(server, repository, &wish.reference, leave).await {
        Ok(preview) => (Looked::Foreseen(Foreseen::Plan(Box::new(preview))), WorkEnd::ReadThrough),
        Err(PreviewError::Store(error)) => return Err(error),
        Err(PreviewError::Busy | PreviewError::Stopping) => (Looked::Later(PAUSES[0]), WorkEnd::Untried),
        Err(PreviewError::Failed(error)) => match next_try(wish.attempts) {
            Some(pause) => (Looked::Later(pause), WorkEnd::Failed),
            None => (Looked::Foreseen(Foreseen::Nothing(error)), WorkEnd::Failed),
        },
    })
}

/// Plans no pull request of the repository any more: whoever opened this one can open another.
async fn hold_all(
    server: &Control,
    repository: &Repository,
    wish: &PullRequestWish,
    suspicion: Suspicion,
) -> Result<(), StoreError> {
    let held = HeldWork {
        work: Work::PullRequests,
        subject: wish.subject(),
        doing: format!("planning its pull request {}", wish.number),
        detail: json!({"pull_request": wish.number, "commit_sha": wish.commit_sha}),
    };
    let held = hold(server, repository, held, suspicion).await?;
    say_foreseen(server, repository, wish, &Foreseen::Nothing(refusal(&held))).await
}

/// How long to wait before the next try after so many; nothing if it is given up.
fn next_try(attempts: i64) -> Option<Duration> {
    usize::try_from(attempts).ok().and_then(|nth| PAUSES.get(nth)).copied()
}

async fn put_off(server: &Control, wish: &PullRequestWish, until: Timestamp) -> Result<(), StoreError> {
    let mut writing = server.store().write().await?;
    writing.pull_request_later(wish, until).await?;
    writing.commit().await
}
