//! What people ask for that fetches or reads what others made: previews, tests, and changes that adopt the accepted state.

use std::time::Duration;

use serde_json::json;
use windlass_core::quarantine::{Subject, Suspicion, Work, WorkEnd};
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_store::{Lease, new_id};

use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::failure::{QUARANTINED, internal};
use crate::limits::company::Leave;
use crate::work::counted::{Begin, HeldWork, begin, hold, refusal};
use crate::work::error::PreviewError;

/// How long whoever asked waits. The parts have limits of their own; this is for all of them together.
const WITHIN: Duration = Duration::from_secs(150);

/// How often one that waits for another of the same repository looks again.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// How often it does so before it gives up.
const TRIES: usize = 50;

/// What is asked for.
#[derive(Clone, Debug)]
pub(crate) enum Requested {
    /// Something that reads what is in a repository.
    Of(Repository),
    /// Something that reads what whoever asks sent, to be compared with a repository.
    Sent(Repository),
    /// A test of a repository that is not registered.
    Test(Repository),
}

impl Requested {
    pub(crate) fn repository(&self) -> &Repository {
        let (Requested::Of(repository) | Requested::Sent(repository) | Requested::Test(repository)) = self;
        repository
    }

    fn subject(&self) -> Subject<'_> {
        let Repository { id, account_id, repo_url, .. } = self.repository();
        match self {
            Requested::Of(_) | Requested::Sent(_) => Subject::Requests(id),
            Requested::Test(_) => Subject::Test { account: account_id, url: repo_url },
        }
    }

    /// Why it is not done, if that is known before.
    fn refused(&self) -> Option<RunError> {
        let quarantines = &self.repository().quarantines;
        match self {
            // Whatever the server died of is in the repository, and a preview of its branch reads it as a sync does.
            Requested::Of(_) => quarantines.any().map(refusal),
            Requested::Sent(_) => quarantines.of(Work::Requests).map(refusal),
            Requested::Test(_) => None,
        }
    }
}

/// Does what someone asked for, if nothing is held against it, and counts it. Only one at a time for each repository, on
/// whichever server. To be called on a task that nobody gives up: see [`to_the_end`].
pub(crate) async fn requested<T, E, F>(
    server: &Control,
    asked: &Requested,
    work: impl FnOnce(Leave) -> F,
    end_of: impl Fn(&Result<T, E>) -> WorkEnd,
) -> Result<T, E>
where
    E: From<PreviewError>,
    F: Future<Output = Result<T, E>>,
{
    if let Some(refused) = asked.refused() {
        return Err(PreviewError::Failed(refused).into());
    }
    let name = format!("work:{}", asked.subject().key());
    let lease = wait_for_lease(server, &name, server.config().fetch_limits.time).await?;
    let done = counted(server, asked, work, end_of).await;
    // A lease that cannot be given back runs out by itself.
    let _ = server.store().lease_release(&lease).await;
    done
}

async fn counted<T, E, F>(
    server: &Control,
    asked: &Requested,
    work: impl FnOnce(Leave) -> F,
    end_of: impl Fn(&Result<T, E>) -> WorkEnd,
) -> Result<T, E>
where
    E: From<PreviewError>,
    F: Future<Output = Result<T, E>>,
{
    let counted = match begin(server, asked.subject()).await.map_err(PreviewError::Store)? {
        Begin::Begun(counted) => counted,
        Begin::Quarantined(suspicion) => return Err(quarantined(server, asked, suspicion).await?.into()),
    };
    crash_point("requested.begun");
    let done = work(counted.leave()).await;
    counted.end(server, end_of(&done)).await.map_err(PreviewError::Store)?;
    done
}

/// Quarantines what servers died of, and says why it is not done.
async fn quarantined(
    server: &Control,
    asked: &Requested,
    suspicion: Suspicion,
) -> Result<PreviewError, PreviewError> {
    if let Requested::Test(repository) = asked {
        let reason = suspicion.reason(&format!("testing {}", repository.repo_url));
        let help = "look at what is in that repository; it can be tested again in a week";
        return Ok(RunError::new(QUARANTINED, format!("quarantined: {reason}"), help).into());
    }
    let held = HeldWork {
        work: Work::Requests,
        subject: asked.subject(),
        doing: "making a preview or a test of it that someone asked for".to_owned(),
        detail: json!({}),
    };
    let quarantine = hold(server, asked.repository(), held, suspicion).await?;
    Ok(refusal(&quarantine).into())
}

/// Waits for a lease that is held for as long as a fetch may take. One of its own for each who asks: two of the same
/// server must not share it either.
pub(crate) async fn wait_for_lease(
    server: &Control,
    name: &str,
    fetching: Duration,
) -> Result<Lease, PreviewError> {
    let holder = new_id();
    // A fetch makes at most two conversations.
    let length = fetching * 2 + Duration::from_secs(30);
    for _ in 0..TRIES {
        if let Some(lease) = server.store().lease_take(name, &holder, now(), length).await? {
            return Ok(lease);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Err(PreviewError::Busy)
}

/// Does work that keeps something, such as its turn, until it ends: also when whoever asked has hung up, because what runs
/// on a thread cannot be stopped.
pub(crate) async fn to_the_end<T, E>(
    keep: impl Send + 'static,
    work: impl Future<Output = Result<T, E>> + Send + 'static,
) -> Result<T, E>
where
    T: Send + 'static,
    E: From<PreviewError> + Send + 'static,
{
    let task = tokio::spawn(async move {
        let done = work.await;
        drop(keep);
        done
    });
    let failed = match tokio::time::timeout(WITHIN, task).await {
        Ok(Ok(done)) => return done,
        Ok(Err(panic)) => internal(&panic),
        Err(_) => RunError::new(
            "too-slow",
            format!("this took more than {} seconds", WITHIN.as_secs()),
            "try again; if it stays so slow, look at the git server and at the size of the fleet",
        ),
    };
    Err(PreviewError::Failed(failed).into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn who_hangs_up_leaves_the_turn_with_the_work() {
        let turn = Arc::new(());
        let (finish, finished) = oneshot::channel::<()>();
        let asking = tokio::spawn(to_the_end::<_, PreviewError>(Arc::clone(&turn), async move {
            let _ = finished.await;
            Ok(())
        }));
        tokio::task::yield_now().await;
        asking.abort();
        assert!(asking.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(Arc::strong_count(&turn), 2, "the work goes on");
        finish.send(()).expect("the work waits");
        while Arc::strong_count(&turn) > 1 {
            tokio::task::yield_now().await;
        }
    }
}
