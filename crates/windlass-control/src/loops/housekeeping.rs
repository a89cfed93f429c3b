//! What time alone changes: proposals expire, old records are forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::apply::governing_repository;
use windlass_core::id::{AccountId, ProposalId};
use windlass_core::proposal::{CloseReason, Proposal, Status, expires_at, expiry_reason};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, RowBudget, Store, StoreError, Writing};

use crate::clock::now;
use crate::comparison::forget_all_but;
use crate::control::Control;
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::metrics::{self, AccountGauges, compact_metrics};
use crate::pace::run_periodically;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long runs, closed proposals, events and what is left of resources that ended are kept.
const RUN_RETENTION: Duration = Duration::from_secs(90 * DAY.as_secs());

/// How long those are kept that tell of failures.
const FAILURE_RETENTION: Duration = Duration::from_secs(365 * DAY.as_secs());

/// How long previews are kept.
const PREVIEW_RETENTION: Duration = Duration::from_secs(30 * DAY.as_secs());

/// How long the log of notifications goes back.
const DELIVERY_RETENTION: Duration = Duration::from_secs(30 * DAY.as_secs());

/// How long a request can be repeated with the same idempotency key.
const IDEMPOTENCY_RETENTION: Duration = DAY;

/// How long a test of a repository that is not registered is held after servers died of it: nobody can release it.
const TEST_QUARANTINE: Duration = Duration::from_secs(7 * DAY.as_secs());

/// How long a webhook's delivery cannot be repeated.
const WEBHOOK_RETENTION: Duration = DAY;

/// Subjects whose failed sign-ins are kept at once. Turns to verify passwords bound how many can be added in a minute.
const MAX_FAILURE_SUBJECTS: usize = 50_000;

/// How long it is remembered from where someone signed in.
const SIGN_IN_LOCATION_RETENTION: Duration = Duration::from_secs(90 * DAY.as_secs());

/// How much one turn deletes at most.
#[derive(Clone, Copy, Debug)]
struct ForgetBounds {
    /// Rows in one transaction.
    rows: usize,
    /// Transactions.
    transactions: usize,
}

/// A thousand rows keep the write lock for some milliseconds. A hundred thousand in a turn, one a minute, are more than a
/// server writes in that time, and do not keep proposals from expiring.
const TURN: ForgetBounds = ForgetBounds { rows: 1_000, transactions: 100 };

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    // A short life is over when it says so, not when the next cleaning comes round.
    let interval = server.config().intervals.housekeeping.min(server.config().intervals.proposal_lifetime);
    run_periodically(&server, "housekeeping", &server.nudges().housekeeping, interval, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let now = now();
    server.retry_writing(now).await?;
    expire(server, now).await?;
    forget_old(server.store(), now, TURN).await?;
    forget_comparisons(server).await?;
    update_gauges(server).await
}

/// Deletes what is older than it is kept, in transactions of few rows: between them, others write.
async fn forget_old(store: &Store, now: Timestamp, bounds: ForgetBounds) -> Result<(), StoreError> {
    for _ in 0..bounds.transactions {
        let mut budget = RowBudget::new(bounds.rows);
        let mut writing = store.write().await?;
        forget_batch(&mut writing, now, &mut budget).await?;
        writing.commit().await?;
        if !budget.is_spent() {
            return Ok(());
        }
        // Whoever waits for the writer gets it before the next batch.
        tokio::task::yield_now().await;
    }
    tracing::info!("more old records than one run deletes; the next run continues");
    Ok(())
}

/// Deletes what is older than it is kept, as far as the budget goes.
async fn forget_batch(
    writing: &mut Writing,
    now: Timestamp,
    budget: &mut RowBudget,
) -> Result<(), StoreError> {
    let (old, very_old) = (now.minus(RUN_RETENTION), now.minus(FAILURE_RETENTION));
    writing.acceptances_forget(now, budget).await?;
    writing.sessions_forget(now, budget).await?;
    writing.invitations_forget(now, budget).await?;
    writing.answers_forget(now.minus(IDEMPOTENCY_RETENTION), budget).await?;
    writing.suspicions_of_tests_forget(now.minus(TEST_QUARANTINE), budget).await?;
    writing.webhook_deliveries_forget(now.minus(WEBHOOK_RETENTION), budget).await?;
    writing.failures_forget(now.minus(DAY), MAX_FAILURE_SUBJECTS, budget).await?;
    writing.sign_in_places_forget(now.minus(SIGN_IN_LOCATION_RETENTION), budget).await?;
    writing.pushes_forget(old, budget).await?;
    writing.leases_forget(now.minus(DAY), budget).await?;
    writing.previews_forget(now.minus(PREVIEW_RETENTION), budget).await?;
    writing.runs_forget(old, very_old, budget).await?;
    writing.plans_forget(old, budget).await?;
    writing.proposals_forget(old, very_old, budget).await?;
    writing.content_differences_forget(old, budget).await?;
    writing.tombstones_forget(old, budget).await?;
    writing.events_forget(old, very_old, budget).await?;
    writing.deliveries_forget(now.minus(DELIVERY_RETENTION), budget).await?;
    writing.forge_reports_forget(old, budget).await?;
    Ok(())
}

/// Forgets what comparisons of repositories came to that are not there any more.
async fn forget_comparisons(server: &Control) -> Result<(), StoreError> {
    let compared = server.store().read().await?.repositories_compared().await?;
    let known = compared.into_iter().map(|(_, repository)| repository).collect();
    forget_all_but(&known, &mut server.last_comparisons());
    Ok(())
}

/// Tells how things stand on the whole.
async fn update_gauges(server: &Control) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let mut standing = AccountGauges::default();
    for account in reading.accounts().await? {
        standing.halted += usize::from(account.halt.is_some());
        standing.drifted += reading.drifts_count(&account.id).await?;
        standing.proposals.extend(reading.proposals_count(&account.id).await?);
    }
    metrics::set_account_gauges(&standing);
    compact_metrics();
    Ok(())
}

/// Ends proposals that nobody decided, or that could not be applied, in time.
async fn expire(server: &Control, now: Timestamp) -> Result<(), StoreError> {
    let mut accounts: BTreeMap<AccountId, Vec<ProposalId>> = BTreeMap::new();
    for (account_id, id) in server.store().read().await?.proposals_expired(now).await? {
        accounts.entry(account_id).or_default().push(id);
    }
    for (account_id, ids) in accounts {
        let mut writing = server.store().write_account(&account_id).await?;
        let ids: Vec<&ProposalId> = ids.iter().collect();
        let mut late = writing.proposals_by_id(&account_id, &ids).await?;
        late.retain(|proposal| Status::Expired.may_follow(proposal.status));
        let kept = waiting_for_window(&mut writing, &account_id, &late, now).await?;
        late.retain(|proposal| !kept.iter().any(|(id, _)| *id == proposal.id));
        let kept: Vec<(&ProposalId, Timestamp)> = kept.iter().map(|(id, until)| (id, *until)).collect();
        writing.proposals_keep_until(&kept).await?;
        let reasons: Vec<CloseReason> = late.iter().map(expiry_reason).collect();
        let endings: Vec<ProposalClosing<'_>> = late
            .iter()
            .zip(&reasons)
            .map(|(proposal, reason)| ProposalClosing::new(proposal, Status::Expired, Some(reason)))
            .collect();
        close_proposals(&mut writing, &endings, None, now).await?;
        server.commit(writing).await?;
    }
    Ok(())
}

/// Proposals whose time is up and that keep nevertheless, each until when: approved ones that wait for nothing but their
/// window.
async fn waiting_for_window(
    writing: &mut AccountWriting,
    account_id: &AccountId,
    late: &[Proposal],
    now: Timestamp,
) -> Result<Vec<(ProposalId, Timestamp)>, StoreError> {
    let approved: Vec<&Proposal> =
        late.iter().filter(|proposal| proposal.status == Status::Approved).collect();
    let Some(account) = writing.account(account_id.as_str()).await?.filter(|_| !approved.is_empty()) else {
        return Ok(Vec::new());
    };
    let ids: Vec<&ProposalId> = approved.iter().map(|proposal| &proposal.id).collect();
    let approvals = writing.approvals_of(&ids).await?;
    let repositories = writing.repositories(account_id).await?;
    let changed = approved.iter().map(|proposal| &proposal.change.key);
    let gatekeeper = load_gatekeeper(writing, &account, changed, now).await?;
    let kept = approved.into_iter().filter_map(|proposal| {
        let repository = governing_repository(proposal, &repositories);
        let given = approvals.get(&proposal.id).map(Vec::as_slice).unwrap_or_default();
        let judgement = gatekeeper.judge(proposal, repository, given, now);
        let until = expires_at(proposal.status, proposal.expires_at, &judgement);
        (until > now).then(|| (proposal.id.clone(), until))
    });
    Ok(kept.collect())
}

#[cfg(test)]
mod tests {
    use windlass_core::event::{EventKind, NewEvent, Severity};
    use windlass_store::{Address, EventFilter, EventOrder};

    use super::*;

    async fn tell(store: &Store, at: Timestamp, count: usize) {
        let mut writing = store
            .write_account(&AccountId::installation())
            .await
            .expect("the installation's account is always there");
        for _ in 0..count {
            writing.event(NewEvent {
                kind: EventKind::SyncStarted,
                severity: Severity::Low,
                resource: None,
                repository_id: None,
                correlation_id: None,
                source: "test".to_owned(),
                message: "something happened".to_owned(),
                payload: serde_json::json!({}),
                at,
            });
        }
        writing.commit().await.expect("the events are stored");
    }

    async fn left(store: &Store) -> usize {
        let mut reading = store.read().await.expect("a connection");
        let order = EventOrder::OldestAfter(0);
        reading
            .events(&AccountId::installation(), &EventFilter::default(), order, 1_000)
            .await
            .expect("events")
            .len()
    }

    #[tokio::test]
    async fn a_turn_deletes_no_more_than_its_bounds_and_the_next_goes_on() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = Address::Sqlite(directory.path().join("windlass.db"));
        let store = Store::open(&address).await.expect("a fresh database");
        let now = Timestamp::from_millis(1_700_000_000_000);
        tell(&store, now.minus(2 * RUN_RETENTION), 35).await;
        tell(&store, now, 3).await;
        let bounds = ForgetBounds { rows: 10, transactions: 2 };
        for expected in [18, 3, 3] {
            forget_old(&store, now, bounds).await.expect("old events can be deleted");
            assert_eq!(left(&store).await, expected);
        }
    }
}
