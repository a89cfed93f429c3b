//! Looks at pull requests that forges told of: each is planned against what is live, and its forge is told.

use std::time::Duration;

use windlass_core::time::Timestamp;
use windlass_store::{PullRequestWish, StoreError};

use super::every;
use crate::clock::now;
use crate::forge::{Foreseen, say_foreseen};
use crate::preview::{self, PreviewError};
use crate::server::Server;

/// Looked at in one turn.
const AT_ONCE: usize = 20;

/// Longer than looking takes, so that no other server looks at the same.
const LEASE: Duration = Duration::from_secs(300);

/// Pauses after looking failed. A forge may tell of a commit a moment before it can be fetched.
const PAUSES: [Duration; 4] =
    [Duration::from_secs(2), Duration::from_secs(15), Duration::from_secs(60), Duration::from_secs(300)];

/// Works until the server stops.
pub(super) async fn run_loop(server: Server) {
    let rhythm = server.config().rhythm.schedule;
    every(&server, "pull requests", &server.nudges().pull_requests, rhythm, turn).await;
}

async fn turn(server: &Server) -> Result<(), StoreError> {
    let latest = now().after(PAUSES[PAUSES.len() - 1] * 2);
    let due = server.store().read().await?.pull_requests_due(now(), latest, AT_ONCE).await?;
    for wish in due {
        if server.is_stopping() {
            break;
        }
        let name = format!("pull-request:{}:{}", wish.repository_id, wish.number);
        let Some(lease) = server.store().lease_take(&name, server.holder(), now(), LEASE).await? else {
            continue;
        };
        let looked = look(server, &wish).await;
        server.store().lease_release(&lease).await?;
        looked?;
    }
    Ok(())
}

async fn look(server: &Server, wish: &PullRequestWish) -> Result<(), StoreError> {
    let repository = server.store().read().await?.repository(&wish.account_id, &wish.repository_id).await?;
    let Some(repository) = repository else { return Ok(()) };
    // Where it leads by now is what is worth knowing: it may have moved since it was told of.
    let foreseen = match preview::of_ref(server, &repository, &wish.reference, None).await {
        Ok(preview) => Foreseen::Plan(Box::new(preview)),
        Err(PreviewError::Store(error)) => return Err(error),
        Err(PreviewError::Busy | PreviewError::Stopping) => {
            return put_off(server, wish, now().after(PAUSES[0])).await;
        }
        Err(PreviewError::Failed(error)) => match next_try(wish.attempts) {
            Some(pause) => return put_off(server, wish, now().after(pause)).await,
            None => Foreseen::Nothing(error),
        },
    };
    say_foreseen(server, &repository, wish, &foreseen).await
}

/// How long to wait before the next try after so many; nothing if it is given up.
fn next_try(attempts: i64) -> Option<Duration> {
    usize::try_from(attempts).ok().and_then(|nth| PAUSES.get(nth)).copied()
}

async fn put_off(server: &Server, wish: &PullRequestWish, until: Timestamp) -> Result<(), StoreError> {
    let mut writing = server.store().write().await?;
    writing.pull_request_later(wish, until).await?;
    writing.commit().await
}
