//! Requested work that fetches or reads content from outside: previews, connection tests, and adopting drift into git.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, timeout_at};
use windlass_core::quarantine::{CrashHistory, QuarantinableWork, WorkEnd, WorkSubject};
use windlass_core::repository::Repository;
use windlass_core::run::RunError;
use windlass_store::{Lease, new_id};

use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::failure::{QUARANTINED, panic_error};
use crate::limits::isolation::WorkPermit;
use crate::work::error::PreviewError;
use crate::work::tracked::{BeginResult, QuarantineReport, begin, quarantine_work, refusal};

/// How long a request waits for its result. The parts have their own limits; this is the limit for all of them together.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(150);

/// How long a request waits for another one of the same repository before it fails.
const LEASE_TIMEOUT: Duration = Duration::from_secs(10);

/// How often it checks the lease meanwhile, because another server may hold it. This server's own releases wake it.
const LEASE_CHECK_INTERVAL: Duration = Duration::from_millis(200);

/// The requested work.
#[derive(Clone, Debug)]
pub(crate) enum OnDemandWork {
    /// Work that reads the content of a repository.
    ReadsRepository(Repository),
    /// Work that reads files that the caller sent, to compare them with a repository.
    ReadsSentFiles(Repository),
    /// A test of a repository that is not registered.
    Test(Repository),
}

impl OnDemandWork {
    pub(crate) fn repository(&self) -> &Repository {
        let (OnDemandWork::ReadsRepository(repository)
        | OnDemandWork::ReadsSentFiles(repository)
        | OnDemandWork::Test(repository)) = self;
        repository
    }

    fn subject(&self) -> WorkSubject<'_> {
        let Repository { id, account_id, repo_url, .. } = self.repository();
        match self {
            OnDemandWork::ReadsRepository(_) | OnDemandWork::ReadsSentFiles(_) => WorkSubject::Requests(id),
            OnDemandWork::Test(_) => WorkSubject::Test { account: account_id, url: repo_url },
        }
    }

    /// Why it cannot start, if it is quarantined.
    fn refused(&self) -> Option<RunError> {
        let quarantines = &self.repository().quarantines;
        match self {
            // The content that crashed the server is in the repository, and a preview of its branch reads it as a sync does.
            OnDemandWork::ReadsRepository(_) => quarantines.any().map(refusal),
            OnDemandWork::ReadsSentFiles(_) => quarantines.of(QuarantinableWork::Requests).map(refusal),
            OnDemandWork::Test(_) => None,
        }
    }
}

/// Runs requested work unless it is quarantined, and counts the attempt. Only one at a time for each repository, over all
/// servers. Call it on a task that is never cancelled: see [`run_to_completion`].
pub(crate) async fn run_on_demand<T, E, F>(
    server: &Control,
    requested: &OnDemandWork,
    work: impl FnOnce(WorkPermit) -> F,
    end_of: impl Fn(&Result<T, E>) -> WorkEnd,
) -> Result<T, E>
where
    E: From<PreviewError>,
    F: Future<Output = Result<T, E>>,
{
    if let Some(refused) = requested.refused() {
        return Err(PreviewError::Failed(refused).into());
    }
    let name = format!("work:{}", requested.subject().key());
    let lease = wait_for_lease(server, &name, server.config().fetch_limits.time).await?;
    let done = run_tracked(server, requested, work, end_of).await;
    server.release_lease(&lease).await;
    done
}

async fn run_tracked<T, E, F>(
    server: &Control,
    requested: &OnDemandWork,
    work: impl FnOnce(WorkPermit) -> F,
    end_of: impl Fn(&Result<T, E>) -> WorkEnd,
) -> Result<T, E>
where
    E: From<PreviewError>,
    F: Future<Output = Result<T, E>>,
{
    let counted = match begin(server, requested.subject()).await.map_err(PreviewError::Store)? {
        BeginResult::Begun(counted) => counted,
        BeginResult::Quarantined(suspicion) => {
            return Err(quarantined(server, requested, suspicion).await?.into());
        }
    };
    crash_point("requested.begun");
    let done = work(counted.permit()).await;
    counted.end(server, end_of(&done)).await.map_err(PreviewError::Store)?;
    done
}

/// Quarantines work that crashed servers, and returns the error for the caller.
async fn quarantined(
    server: &Control,
    requested: &OnDemandWork,
    suspicion: CrashHistory,
) -> Result<PreviewError, PreviewError> {
    if let OnDemandWork::Test(repository) = requested {
        let reason = suspicion.reason(&format!("testing {}", repository.repo_url));
        let help = "check the content of that repository; you can test it again in a week";
        return Ok(RunError::new(QUARANTINED, format!("quarantined: {reason}"), help).into());
    }
    let held = QuarantineReport {
        work: QuarantinableWork::Requests,
        subject: requested.subject(),
        doing: "running a requested preview or test of it".to_owned(),
        detail: json!({}),
    };
    let quarantine = quarantine_work(server, requested.repository(), held, suspicion).await?;
    Ok(refusal(&quarantine).into())
}

/// Waits for a lease that lasts as long as a fetch may take. Each request is its own holder, because two requests on the same
/// server must not share the lease either.
pub(crate) async fn wait_for_lease(
    server: &Control,
    name: &str,
    fetching: Duration,
) -> Result<Lease, PreviewError> {
    let holder = new_id();
    // A fetch connects at most twice.
    let length = fetching * 2 + Duration::from_secs(30);
    let deadline = Instant::now() + LEASE_TIMEOUT;
    let mut lease_releases = server.watch_lease_releases();
    loop {
        lease_releases.borrow_and_update();
        if let Some(lease) = server.store().lease_take(name, &holder, now(), length).await? {
            return Ok(lease);
        }
        if Instant::now() >= deadline {
            return Err(PreviewError::Busy);
        }
        let _ =
            timeout_at(deadline.min(Instant::now() + LEASE_CHECK_INTERVAL), lease_releases.changed()).await;
    }
}

/// Runs work that keeps something, such as its permit, until it ends, even if the caller disconnects: work on a blocking
/// thread cannot be stopped.
pub(crate) async fn run_to_completion<T, E>(
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
    let failed = match tokio::time::timeout(REQUEST_TIMEOUT, task).await {
        Ok(Ok(done)) => return done,
        Ok(Err(panic)) => panic_error(&panic),
        Err(_) => RunError::new(
            "too-slow",
            format!("timed out after {} seconds", REQUEST_TIMEOUT.as_secs()),
            "try again; if it stays slow, check the git server and the size of the fleet",
        ),
    };
    Err(PreviewError::Failed(failed).into())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;
    use windlass_store::{Address, Store};

    use super::*;
    use crate::agents::authority::AgentAuthority;
    use crate::config::ControlConfig;
    use crate::control::ControlParts;
    use crate::keys::KeySource;
    use crate::keys::admit::take_keys;
    use crate::keys::signed_heads::SignedHeads;

    async fn control(directory: &std::path::Path) -> Control {
        let config = ControlConfig::in_directory(directory);
        let store = Store::open(&Address::Sqlite(directory.join("windlass.db"))).await.expect("a database");
        let keys = take_keys(&store, &KeySource::DataDirectory, directory, now()).await.expect("a new key");
        let authority = AgentAuthority::new(&keys).expect("any key makes an authority");
        let signed_heads = SignedHeads::read(directory).expect("a directory that can be read");
        let guard = windlass_outbound::AddressGuard::new(config.address_rules());
        let sender = windlass_notify::NotificationSender::new(config.insecure_notifications, &guard)
            .expect("a sender");
        Control::new(config, ControlParts { store, keys, authority, signed_heads, sender })
    }

    #[tokio::test]
    async fn a_request_that_waits_for_a_lease_is_woken_when_this_server_releases_it() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let server = control(directory.path()).await;
        let first = wait_for_lease(&server, "work:a", Duration::ZERO).await.expect("it is free");
        let lease_releases = server.watch_lease_releases();
        let waiting = wait_for_lease(&server, "work:a", Duration::ZERO);
        let (second, ()) = tokio::join!(waiting, server.release_lease(&first));
        let second = second.expect("it was given back");
        assert!(lease_releases.has_changed().expect("the server is there"));
        assert_eq!((second.name.as_str(), second.epoch), ("work:a", first.epoch + 1));
        assert_ne!(second.holder, first.holder, "each who asks holds it alone");
    }

    #[tokio::test]
    async fn work_keeps_its_permit_after_the_client_disconnects() {
        let turn = Arc::new(());
        let (finish, finished) = oneshot::channel::<()>();
        let asking = tokio::spawn(run_to_completion::<_, PreviewError>(Arc::clone(&turn), async move {
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
