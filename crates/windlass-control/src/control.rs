//! The control plane: what its loops and everything that is asked of it share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use windlass_core::id::{AccountId, HolderId, RepositoryId};
use windlass_core::time::Timestamp;
use windlass_notify::NotificationSender;
use windlass_outbound::AddressGuard;
use windlass_store::{AccountWriting, Lease, Store, StoreError};

use crate::comparison::LastComparison;
use crate::config::ControlConfig;
use crate::keys::Keyring;
use crate::keys::signed_heads::SignedHeads;
use crate::limits::body_budget;
use crate::limits::fair_permits::{FairPermit, FairPermits};
use crate::limits::isolation::WorkIsolation;
use crate::limits::rate_limit::RateLimits;
use crate::{idempotency, metrics};

/// How long a loop waits after the database failed, before it tries again.
const RETRY: Duration = Duration::from_secs(2);

/// The part in trouble when requests cannot be saved.
const WRITING: &str = "writing";

/// The control plane of a running server, shared by its loops and requests.
#[derive(Clone, Debug)]
pub struct Control {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: ControlConfig,
    store: Store,
    nudges: Nudges,
    written: watch::Sender<u64>,
    given_back: watch::Sender<u64>,
    apply_turns: watch::Sender<ApplyTurns>,
    stopping: watch::Sender<bool>,
    interrupt: AtomicBool,
    troubles: Mutex<BTreeMap<&'static str, String>>,
    last_comparisons: Mutex<BTreeMap<RepositoryId, LastComparison>>,
    holder: HolderId,
    preview_permits: FairPermits,
    remote_permits: FairPermits,
    reading_permits: FairPermits,
    keys: Keyring,
    signed_heads: SignedHeads,
    preview_bodies: body_budget::BodyBudget,
    company: WorkIsolation,
    allowances: RateLimits,
    sender: NotificationSender,
    guard: AddressGuard,
    forge_guard: AddressGuard,
}

/// Wakes for the loops: something may be there to do.
#[derive(Debug, Default)]
pub struct Nudges {
    /// A run was queued, or a repository may be due.
    pub(crate) sync: Notify,
    /// Something was approved, or what was in the way is gone.
    pub apply: Notify,
    /// The accepted state may differ from git.
    pub(crate) drift: Notify,
    /// A notification is due.
    pub(crate) notifications: Notify,
    /// Something could not be saved.
    pub(crate) housekeeping: Notify,
    /// A forge may have to be told something.
    pub(crate) forge: Notify,
    /// A pull request is to be looked at.
    pub(crate) pull_requests: Notify,
    /// A checkpoint of the audit log was made, and may have to be sent elsewhere.
    pub(crate) checkpoints: Notify,
    /// Other replicas are to be listened to again at once.
    pub(crate) replicas: Notify,
}

/// Turns that the apply loop took since the server began.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ApplyTurns {
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

/// What a control plane is made of besides its configuration.
pub struct ControlParts {
    /// The database.
    pub store: Store,
    /// What signs sessions, forms and checkpoints.
    pub keys: Keyring,
    /// The heads of the audit log that were signed last.
    pub signed_heads: SignedHeads,
    /// What sends notifications.
    pub sender: NotificationSender,
}

impl Control {
    /// A control plane that nothing runs in yet.
    pub fn new(config: ControlConfig, parts: ControlParts) -> Control {
        let ControlParts { store, keys, signed_heads, sender } = parts;
        let guard = AddressGuard::new(config.address_rules());
        let forge_guard = AddressGuard::new(config.forge_address_rules());
        let inner = Inner {
            guard,
            forge_guard,
            config,
            store,
            nudges: Nudges::default(),
            written: watch::Sender::new(0),
            given_back: watch::Sender::new(0),
            apply_turns: watch::Sender::new(ApplyTurns::default()),
            stopping: watch::Sender::new(false),
            interrupt: AtomicBool::new(false),
            troubles: Mutex::default(),
            last_comparisons: Mutex::default(),
            holder: windlass_store::new_id(),
            preview_permits: FairPermits::default(),
            remote_permits: FairPermits::default(),
            reading_permits: FairPermits::default(),
            keys,
            signed_heads,
            preview_bodies: body_budget::BodyBudget::default(),
            company: WorkIsolation::default(),
            allowances: RateLimits::default(),
            sender,
        };
        Control { inner: Arc::new(inner) }
    }

    pub(crate) fn config(&self) -> &ControlConfig {
        &self.inner.config
    }

    /// The database.
    pub fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Wakes for the loops.
    pub fn nudges(&self) -> &Nudges {
        &self.inner.nudges
    }

    /// Refuses addresses that accounts may not have the server connect to.
    pub(crate) fn guard(&self) -> &AddressGuard {
        &self.inner.guard
    }

    /// The same for the APIs of forges.
    pub(crate) fn forge_guard(&self) -> &AddressGuard {
        &self.inner.forge_guard
    }

    /// Who works beside whom.
    pub(crate) fn work_isolation(&self) -> &WorkIsolation {
        &self.inner.company
    }

    /// What bodies of previews hold that wait to be looked at.
    pub fn preview_bodies(&self) -> &body_budget::BodyBudget {
        &self.inner.preview_bodies
    }

    /// What sends notifications.
    pub(crate) fn sender(&self) -> &NotificationSender {
        &self.inner.sender
    }

    /// A turn to read and compare a fleet of an account, which ends when it is dropped. Two cores read no faster with more
    /// at once, and each may hold a large fleet.
    pub(crate) async fn reading_permit(&self, account_id: &AccountId) -> FairPermit {
        self.inner.reading_permits.wait(account_id).await
    }

    /// Who this process is among replicas.
    pub(crate) fn holder(&self) -> &HolderId {
        &self.inner.holder
    }

    /// What signs sessions, forms and checkpoints, and gives webhooks their secrets.
    pub fn keys(&self) -> &Keyring {
        &self.inner.keys
    }

    /// The heads of the audit log that this server signed last.
    pub(crate) fn signed_heads(&self) -> &SignedHeads {
        &self.inner.signed_heads
    }

    /// What strangers may cost.
    pub fn allowances(&self) -> &RateLimits {
        &self.inner.allowances
    }

    /// Makes a transaction true and wakes everyone who watches events.
    pub async fn commit(&self, mut writing: AccountWriting) -> Result<(), StoreError> {
        idempotency::record_key(&mut writing).await?;
        let begun = Instant::now();
        let committed = writing.commit().await;
        metrics::transaction_committed(begun.elapsed());
        match &committed {
            Ok(_) => self.clear_problem(WRITING),
            Err(error @ (StoreError::DiskFull(_) | StoreError::ReadOnly(_))) => {
                self.report_problem(WRITING, error);
                self.inner.nudges.housekeeping.notify_one();
            }
            Err(_) => {}
        }
        committed?;
        idempotency::mark_committed();
        self.inner.written.send_modify(|count| *count += 1);
        self.inner.nudges.forge.notify_one();
        Ok(())
    }

    /// Another replica wrote something: whoever watches looks again, and what was asked for there may be done here.
    pub(crate) fn heard_of_writes(&self) {
        self.inner.written.send_modify(|count| *count += 1);
        let Nudges { sync, apply, pull_requests, .. } = &self.inner.nudges;
        [sync, apply, pull_requests].into_iter().for_each(Notify::notify_one);
    }

    /// Has every loop look again: another replica may have left something undone.
    pub(crate) fn wake_all(&self) {
        let Nudges {
            sync,
            apply,
            drift,
            notifications,
            housekeeping,
            forge,
            pull_requests,
            checkpoints,
            replicas: _,
        } = &self.inner.nudges;
        [sync, apply, drift, notifications, housekeeping, forge, pull_requests, checkpoints]
            .into_iter()
            .for_each(Notify::notify_one);
    }

    /// Changes each time something was written.
    pub fn watch_writes(&self) -> watch::Receiver<u64> {
        self.inner.written.subscribe()
    }

    /// Gives a lease back for which others of this server may wait. One that cannot be given back runs out by itself.
    pub(crate) async fn give_back(&self, lease: &Lease) {
        let _ = self.store().lease_release(lease).await;
        self.inner.given_back.send_modify(|count| *count += 1);
    }

    /// Changes each time this server gave such a lease back. Writes are many more, and each look at a lease is one.
    pub(crate) fn watch_leases_given_back(&self) -> watch::Receiver<u64> {
        self.inner.given_back.subscribe()
    }

    /// Changes with each turn of the apply loop: what was approved before a turn begins has been looked at when it ends.
    pub(crate) fn apply_turns(&self) -> &watch::Sender<ApplyTurns> {
        &self.inner.apply_turns
    }

    /// Becomes true when the server is to stop.
    pub fn watch_stopping(&self) -> watch::Receiver<bool> {
        self.inner.stopping.subscribe()
    }

    /// Whether the server is to stop.
    pub fn is_stopping(&self) -> bool {
        *self.inner.stopping.borrow()
    }

    /// Ends what is under way as soon as it can be ended without losing anything.
    pub fn stop(&self) {
        self.inner.interrupt.store(true, Ordering::Relaxed);
        self.inner.stopping.send_replace(true);
    }

    /// Set when fetches should end early.
    pub(crate) fn interrupt(&self) -> &AtomicBool {
        &self.inner.interrupt
    }

    /// Where the mirror of a repository is.
    pub(crate) fn mirror_directory(&self, repository_id: &RepositoryId) -> PathBuf {
        self.inner.config.data_dir.join("mirrors").join(repository_id.as_str())
    }

    /// Where what previews look at is mirrored: never where runs do it.
    pub(crate) fn preview_directory(&self, repository_id: &RepositoryId) -> PathBuf {
        self.inner.config.data_dir.join("previews").join(repository_id.as_str())
    }

    /// Turns to make a preview.
    pub fn preview_permits(&self) -> &FairPermits {
        &self.inner.preview_permits
    }

    /// Turns to speak with a git server because someone asked for it. Each holds a thread, and a slow server holds it long.
    pub(crate) fn remote_permits(&self) -> &FairPermits {
        &self.inner.remote_permits
    }

    /// Notes that a part cannot do its work, and returns how long it should wait before it tries again. Nothing is
    /// lost by it: what was not saved is found again.
    pub(crate) fn report_problem(&self, part: &'static str, error: &StoreError) -> Duration {
        if !matches!(error, StoreError::LeaseLost { .. } | StoreError::Busy(_)) {
            tracing::error!(part, %error, "the database failed");
            self.problems().insert(part, error.to_string());
        }
        RETRY
    }

    /// Where nothing could be saved when it was last tried: tries again, so that the trouble ends with its cause.
    pub(crate) async fn retry_writing(&self, now: Timestamp) -> Result<(), StoreError> {
        if !self.problems().contains_key(WRITING) {
            return Ok(());
        }
        if let Some(lease) = self.store().lease_take(WRITING, self.holder(), now, RETRY).await? {
            self.store().lease_release(&lease).await?;
        }
        self.clear_problem(WRITING);
        Ok(())
    }

    /// Notes that a part does its work.
    pub(crate) fn clear_problem(&self, part: &'static str) {
        self.problems().remove(part);
    }

    /// What is wrong, by part.
    pub fn problems(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.inner.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the last comparison of each repository came to.
    pub(crate) fn last_comparisons(&self) -> MutexGuard<'_, BTreeMap<RepositoryId, LastComparison>> {
        self.inner.last_comparisons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
