//! The control plane: the state that its loops and requests share.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, watch};
use windlass_api::types::ProposalEffects;
use windlass_core::id::{AccountId, HolderId, ProposalId, RepositoryId};
use windlass_core::time::Timestamp;
use windlass_notify::NotificationSender;
use windlass_outbound::AddressGuard;
use windlass_store::{AccountWriting, Lease, Store, StoreError};

use crate::agents::authority::AgentAuthority;
use crate::agents::hub::Hub;
use crate::agents::reads::AgentReads;
use crate::comparison::LastComparison;
use crate::config::ControlConfig;
use crate::delivery_cache::DeliveryCache;
use crate::keys::Keyring;
use crate::keys::signed_heads::SignedHeads;
use crate::limits::body_budget;
use crate::limits::bounded_cache::BoundedCache;
use crate::limits::fair_permits::{FairPermit, FairPermits};
use crate::limits::isolation::WorkIsolation;
use crate::limits::rate_limit::RateLimits;
use crate::reports::queue::ReportQueue;
use crate::{idempotency, metrics};

/// How long a loop waits after the database failed, before it tries again.
const RETRY: Duration = Duration::from_secs(2);

/// The part that has a problem when requests cannot be saved.
const WRITING: &str = "writing";

/// The memory for effects of proposals: the pages that people look at.
const EFFECTS_BYTES: usize = 8 << 20;

/// The effects of a proposal, by its id and version and the version of the account's state.
pub(crate) type EffectsCache = BoundedCache<(ProposalId, i64, i64), Arc<ProposalEffects>>;

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
    lease_releases: watch::Sender<u64>,
    apply_turns: watch::Sender<ApplyTurns>,
    stopping: watch::Sender<bool>,
    interrupt: AtomicBool,
    accounts_with_rollouts: AtomicUsize,
    problems: Mutex<BTreeMap<&'static str, String>>,
    last_comparisons: Mutex<BTreeMap<RepositoryId, LastComparison>>,
    holder: HolderId,
    preview_permits: FairPermits,
    remote_permits: FairPermits,
    reading_permits: FairPermits,
    keys: Keyring,
    authority: AgentAuthority,
    hub: Arc<Hub>,
    signed_heads: SignedHeads,
    preview_bodies: body_budget::BodyBudget,
    work_isolation: WorkIsolation,
    rate_limits: RateLimits,
    agent_reads: AgentReads,
    delivery_cache: DeliveryCache,
    effects_cache: EffectsCache,
    reports: ReportQueue,
    sender: NotificationSender,
    guard: AddressGuard,
    forge_guard: AddressGuard,
}

/// Wake-ups for the loops: there may be work.
#[derive(Debug, Default)]
pub struct Nudges {
    /// A run was queued, or a repository may be due.
    pub(crate) sync: Notify,
    /// A change was approved, or something that blocked one is gone.
    pub apply: Notify,
    /// The accepted state may differ from git.
    pub(crate) drift: Notify,
    /// A notification is due.
    pub(crate) notifications: Notify,
    /// Something could not be saved.
    pub(crate) housekeeping: Notify,
    /// There may be something to report to a forge.
    pub(crate) forge: Notify,
    /// There may be a pull request to preview.
    pub(crate) pull_requests: Notify,
    /// A checkpoint of the audit log was made and may have to be sent to another system.
    pub(crate) checkpoints: Notify,
    /// The accepted state may have changed: nodes may need new assignments.
    pub(crate) assign: Notify,
    /// Agents reported events that have no numbers yet.
    pub(crate) agent_events: Notify,
    /// Targets may have new assignments, agents were revoked, or someone asked an agent to look.
    pub agents: Notify,
    /// For the loop that listens to other replicas. Nothing notifies it: that loop only follows its interval.
    pub(crate) replicas: Notify,
}

/// Iterations of the apply loop since the server started.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ApplyTurns {
    pub(crate) begun: u64,
    pub(crate) ended: u64,
}

/// The parts of a control plane besides its configuration.
pub struct ControlParts {
    /// The database.
    pub store: Store,
    /// The keys that sign sessions, forms and checkpoints.
    pub keys: Keyring,
    /// The certificate authority of agents, of the same keys.
    pub authority: AgentAuthority,
    /// The heads of the audit log that this server signed last.
    pub signed_heads: SignedHeads,
    /// Sends notifications.
    pub sender: NotificationSender,
}

impl Control {
    /// A control plane whose loops are not running yet.
    pub fn new(config: ControlConfig, parts: ControlParts) -> Control {
        let ControlParts { store, keys, authority, signed_heads, sender } = parts;
        let guard = AddressGuard::new(config.address_rules());
        let forge_guard = AddressGuard::new(config.forge_address_rules());
        let inner = Inner {
            guard,
            forge_guard,
            config,
            store,
            nudges: Nudges::default(),
            written: watch::Sender::new(0),
            lease_releases: watch::Sender::new(0),
            apply_turns: watch::Sender::new(ApplyTurns::default()),
            stopping: watch::Sender::new(false),
            interrupt: AtomicBool::new(false),
            accounts_with_rollouts: AtomicUsize::new(0),
            problems: Mutex::default(),
            last_comparisons: Mutex::default(),
            holder: windlass_store::new_id(),
            preview_permits: FairPermits::default(),
            remote_permits: FairPermits::default(),
            reading_permits: FairPermits::default(),
            keys,
            authority,
            hub: Arc::default(),
            signed_heads,
            preview_bodies: body_budget::BodyBudget::default(),
            work_isolation: WorkIsolation::default(),
            rate_limits: RateLimits::default(),
            agent_reads: AgentReads::default(),
            delivery_cache: DeliveryCache::default(),
            effects_cache: EffectsCache::new(EFFECTS_BYTES),
            reports: ReportQueue::default(),
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

    /// Wake-ups for the loops.
    pub fn nudges(&self) -> &Nudges {
        &self.inner.nudges
    }

    /// The address guard: rejects addresses that the server must not connect to for an account.
    pub(crate) fn guard(&self) -> &AddressGuard {
        &self.inner.guard
    }

    /// The address guard for the APIs of forges.
    pub(crate) fn forge_guard(&self) -> &AddressGuard {
        &self.inner.forge_guard
    }

    /// Decides which work runs alone and which runs beside other work.
    pub(crate) fn work_isolation(&self) -> &WorkIsolation {
        &self.inner.work_isolation
    }

    /// The memory budget of preview bodies that are not processed yet.
    pub fn preview_bodies(&self) -> &body_budget::BodyBudget {
        &self.inner.preview_bodies
    }

    /// Sends notifications.
    pub(crate) fn sender(&self) -> &NotificationSender {
        &self.inner.sender
    }

    /// A permit to read and compare a fleet of an account, held until it is dropped. Permits are few because two cores
    /// read no faster with more at once, and each reader may hold a large fleet.
    pub(crate) async fn reading_permit(&self, account_id: &AccountId) -> FairPermit {
        self.inner.reading_permits.wait(account_id).await
    }

    /// The id of this process among the replicas.
    pub(crate) fn holder(&self) -> &HolderId {
        &self.inner.holder
    }

    /// The keys that sign sessions, forms and checkpoints, and from which the secrets of webhooks are derived.
    pub fn keys(&self) -> &Keyring {
        &self.inner.keys
    }

    /// The certificate authority of agents.
    pub fn authority(&self) -> &AgentAuthority {
        &self.inner.authority
    }

    /// The connected agents of this replica.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.inner.hub
    }

    /// The heads of the audit log that this server signed last.
    pub(crate) fn signed_heads(&self) -> &SignedHeads {
        &self.inner.signed_heads
    }

    /// The rate limits of webhooks and of invalid tokens.
    pub fn rate_limits(&self) -> &RateLimits {
        &self.inner.rate_limits
    }

    /// What requests of agents read.
    pub(crate) fn agent_reads(&self) -> &AgentReads {
        &self.inner.agent_reads
    }

    /// What agents asked for recently.
    pub(crate) fn delivery_cache(&self) -> &DeliveryCache {
        &self.inner.delivery_cache
    }

    /// What open proposals do to nodes, as it was shown last.
    pub(crate) fn effects_cache(&self) -> &EffectsCache {
        &self.inner.effects_cache
    }

    /// Commits a transaction and wakes everything that watches for writes.
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
        self.inner.nudges.assign.notify_one();
        Ok(())
    }

    /// Wakes everything that watches for writes, after a transaction that belongs to no account.
    pub(crate) fn note_write(&self) {
        self.inner.written.send_modify(|count| *count += 1);
    }

    /// The queue of agents' reports.
    pub(crate) fn reports(&self) -> &ReportQueue {
        &self.inner.reports
    }

    /// Another replica wrote something: wakes what watches for writes, and the loops that can do work requested there.
    pub(crate) fn wake_after_remote_write(&self) {
        self.inner.written.send_modify(|count| *count += 1);
        let Nudges { sync, apply, pull_requests, assign, agents, .. } = &self.inner.nudges;
        [sync, apply, pull_requests, assign, agents].into_iter().for_each(Notify::notify_one);
    }

    /// Records how many accounts have rollouts that are not over.
    pub(crate) fn note_accounts_with_rollouts(&self, accounts: usize) {
        self.inner.accounts_with_rollouts.store(accounts, Ordering::Relaxed);
    }

    /// Nodes reported something: wakes the loop that moves rollouts, if there are any.
    pub(crate) fn wake_rollouts(&self) {
        if self.inner.accounts_with_rollouts.load(Ordering::Relaxed) > 0 {
            self.inner.nudges.assign.notify_one();
        }
    }

    /// Wakes every loop: another replica may have left work unfinished.
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
            assign,
            agent_events,
            agents,
            replicas: _,
        } = &self.inner.nudges;
        [sync, apply, drift, notifications, housekeeping, forge, pull_requests, checkpoints, assign, agents]
            .into_iter()
            .for_each(Notify::notify_one);
        agent_events.notify_one();
    }

    /// Changes with each write, here or on another replica.
    pub fn watch_writes(&self) -> watch::Receiver<u64> {
        self.inner.written.subscribe()
    }

    /// Releases a lease that other tasks of this server may wait for. If that fails, the lease expires.
    pub(crate) async fn release_lease(&self, lease: &Lease) {
        let _ = self.store().lease_release(lease).await;
        self.inner.lease_releases.send_modify(|count| *count += 1);
    }

    /// Changes each time this server releases such a lease. Tasks that wait for a lease do not watch all writes
    /// instead: those are far more frequent, and each attempt to take a lease is a write itself.
    pub(crate) fn watch_lease_releases(&self) -> watch::Receiver<u64> {
        self.inner.lease_releases.subscribe()
    }

    /// Changes with each iteration of the apply loop. A change that was approved before an iteration began has been
    /// checked when it ends.
    pub(crate) fn apply_turns(&self) -> &watch::Sender<ApplyTurns> {
        &self.inner.apply_turns
    }

    /// Becomes true when the server begins to stop.
    pub fn watch_stopping(&self) -> watch::Receiver<bool> {
        self.inner.stopping.subscribe()
    }

    /// Whether the server is stopping.
    pub fn is_stopping(&self) -> bool {
        *self.inner.stopping.borrow()
    }

    /// Stops the server. Work in progress ends as soon as it can end without losing anything.
    pub fn stop(&self) {
        self.inner.interrupt.store(true, Ordering::Relaxed);
        self.inner.stopping.send_replace(true);
    }

    /// Set when fetches should end early.
    pub(crate) fn interrupt(&self) -> &AtomicBool {
        &self.inner.interrupt
    }

    /// The directory of a repository's mirror.
    pub(crate) fn mirror_directory(&self, repository_id: &RepositoryId) -> PathBuf {
        self.inner.config.data_dir.join("mirrors").join(repository_id.as_str())
    }

    /// The directory of a repository's mirror for previews. Runs never fetch into it, and previews never into the
    /// other.
    pub(crate) fn preview_directory(&self, repository_id: &RepositoryId) -> PathBuf {
        self.inner.config.data_dir.join("previews").join(repository_id.as_str())
    }

    /// Permits to compute a preview.
    pub fn preview_permits(&self) -> &FairPermits {
        &self.inner.preview_permits
    }

    /// Permits to connect to a git server, a forge or a notification provider because of a request. A connection can
    /// hold a thread, and a slow server holds it for long.
    pub(crate) fn remote_permits(&self) -> &FairPermits {
        &self.inner.remote_permits
    }

    /// Records that a part cannot do its work, and returns how long it should wait before it retries. Nothing is lost:
    /// the part finds unsaved work again. A lost lease or a busy database is not a problem and is not recorded.
    pub(crate) fn report_problem(&self, part: &'static str, error: &StoreError) -> Duration {
        if !matches!(error, StoreError::LeaseLost { .. } | StoreError::Busy(_)) {
            tracing::error!(part, %error, "the database failed");
            self.problems().insert(part, error.to_string());
        }
        RETRY
    }

    /// If the last attempt to save failed, tries to write again, so that the problem is cleared when its cause is gone.
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

    /// Records that a part does its work.
    pub(crate) fn clear_problem(&self, part: &'static str) {
        self.problems().remove(part);
    }

    /// The current problems, by part.
    pub fn problems(&self) -> MutexGuard<'_, BTreeMap<&'static str, String>> {
        self.inner.problems.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of the last comparison of each repository.
    pub(crate) fn last_comparisons(&self) -> MutexGuard<'_, BTreeMap<RepositoryId, LastComparison>> {
        self.inner.last_comparisons.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
