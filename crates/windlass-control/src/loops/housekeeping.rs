//! Closes expired proposals, deletes old records and updates gauges.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::apply::governing_repository;
use windlass_core::id::{AccountId, ProposalId};
use windlass_core::proposal::{CloseReason, Proposal, Status, expires_at, expiry_reason};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, RowBudget, Store, StoreError, Writing};

use crate::ask::node::summary::tally;
use crate::clock::now;
use crate::comparison::retain_known;
use crate::control::Control;
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::metrics::{self, AccountGauges, compact_metrics};
use crate::pace::run_periodically;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long runs, closed proposals, rollouts, events and tombstones of destroyed resources are kept.
const RUN_RETENTION: Duration = Duration::from_secs(90 * DAY.as_secs());

/// How long runs, proposals and events about failures are kept.
const FAILURE_RETENTION: Duration = Duration::from_secs(365 * DAY.as_secs());

/// How long previews are kept.
const PREVIEW_RETENTION: Duration = Duration::from_secs(30 * DAY.as_secs());

/// How long notification deliveries are kept.
const DELIVERY_RETENTION: Duration = Duration::from_secs(30 * DAY.as_secs());

/// How long what agents reported is kept after its node ended.
const ENDED_NODE_RETENTION: Duration = Duration::from_secs(7 * DAY.as_secs());

/// How long a request can be repeated with the same idempotency key.
const IDEMPOTENCY_RETENTION: Duration = DAY;

/// How long a test of a repository that is not registered stays quarantined after it crashed servers: nobody can release it.
const TEST_QUARANTINE: Duration = Duration::from_secs(7 * DAY.as_secs());

/// How long a webhook delivery is recognised as a duplicate.
const WEBHOOK_RETENTION: Duration = DAY;

/// How long expired enrolment tokens and joins are kept, so that a late attempt is refused with its reason.
const ENROLMENT_RETENTION: Duration = Duration::from_secs(30 * DAY.as_secs());

/// The most subjects whose failed sign-ins are kept. The permits to verify passwords limit how many are added per minute.
const MAX_FAILURE_SUBJECTS: usize = 50_000;

/// How long the locations from which someone signed in are kept.
const SIGN_IN_LOCATION_RETENTION: Duration = Duration::from_secs(90 * DAY.as_secs());

/// The most that one turn deletes.
#[derive(Clone, Copy, Debug)]
struct DeleteBounds {
    /// Rows in one transaction.
    rows: usize,
    /// Transactions.
    transactions: usize,
}

/// Deleting a thousand rows holds the write lock for some milliseconds. A hundred thousand rows in a turn, one turn a minute,
/// are more than a server writes in that time, and do not delay the expiry of proposals.
const TURN: DeleteBounds = DeleteBounds { rows: 1_000, transactions: 100 };

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    // Proposals with a lifetime shorter than the interval must expire on time.
    let interval = server.config().intervals.housekeeping.min(server.config().intervals.proposal_lifetime);
    run_periodically(&server, "housekeeping", &server.nudges().housekeeping, interval, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let now = now();
    server.retry_writing(now).await?;
    expire(server, now).await?;
    delete_old_rows(server.store(), now, TURN).await?;
    drop_old_comparisons(server).await?;
    update_gauges(server, now).await
}

/// Deletes records that are older than their retention, in small transactions, so that other writes can happen in between.
async fn delete_old_rows(store: &Store, now: Timestamp, bounds: DeleteBounds) -> Result<(), StoreError> {
    for _ in 0..bounds.transactions {
        let mut budget = RowBudget::new(bounds.rows);
        let mut writing = store.write().await?;
        delete_batch(&mut writing, now, &mut budget).await?;
        writing.commit().await?;
        if !budget.is_spent() {
            return Ok(());
        }
        // Other tasks that wait for the writer get it before the next batch.
        tokio::task::yield_now().await;
    }
    tracing::info!("more old records than one run deletes; the next run continues");
    Ok(())
}

/// Deletes records that are older than their retention, as far as the budget allows.
async fn delete_batch(
    writing: &mut Writing,
    now: Timestamp,
    budget: &mut RowBudget,
) -> Result<(), StoreError> {
    let (old, very_old) = (now.minus(RUN_RETENTION), now.minus(FAILURE_RETENTION));
    writing.acceptances_delete_old(now, budget).await?;
    writing.node_drift_acceptances_delete_old(now, budget).await?;
    writing.targets_delete_old(now.minus(ENDED_NODE_RETENTION), budget).await?;
    writing.sessions_delete_old(now, budget).await?;
    writing.invitations_delete_old(now, budget).await?;
    writing.enrolment_tokens_delete_old(now.minus(ENROLMENT_RETENTION), budget).await?;
    writing.node_joins_delete_old(now.minus(ENROLMENT_RETENTION), budget).await?;
    writing.answers_delete_old(now.minus(IDEMPOTENCY_RETENTION), budget).await?;
    writing.suspicions_of_tests_delete_old(now.minus(TEST_QUARANTINE), budget).await?;
    writing.webhook_deliveries_delete_old(now.minus(WEBHOOK_RETENTION), budget).await?;
    writing.failures_delete_old(now.minus(DAY), MAX_FAILURE_SUBJECTS, budget).await?;
    writing.sign_in_places_delete_old(now.minus(SIGN_IN_LOCATION_RETENTION), budget).await?;
    writing.pushes_delete_old(old, budget).await?;
    writing.leases_delete_old(now.minus(DAY), budget).await?;
    writing.previews_delete_old(now.minus(PREVIEW_RETENTION), budget).await?;
    writing.runs_delete_old(old, very_old, budget).await?;
    writing.plans_delete_old(old, budget).await?;
    writing.proposals_delete_old(old, very_old, budget).await?;
    writing.content_differences_delete_old(old, budget).await?;
    writing.tombstones_delete_old(old, budget).await?;
    writing.events_delete_old(old, very_old, budget).await?;
    writing.deliveries_delete_old(now.minus(DELIVERY_RETENTION), budget).await?;
    writing.forge_reports_delete_old(old, budget).await?;
    writing.rollouts_delete_old(old, budget).await?;
    Ok(())
}

/// Drops the cached comparisons of repositories that no longer exist.
async fn drop_old_comparisons(server: &Control) -> Result<(), StoreError> {
    let compared = server.store().read().await?.repositories_with_good_run().await?;
    let known = compared.into_iter().map(|(_, repository)| repository).collect();
    retain_known(&known, &mut server.last_comparisons());
    Ok(())
}

/// Updates the gauges over all accounts.
async fn update_gauges(server: &Control, now: Timestamp) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let mut gauges = AccountGauges::default();
    for account in reading.accounts().await? {
        gauges.halted += usize::from(account.halt.is_some());
        gauges.drifted += reading.drifts_count(&account.id).await?;
        gauges.proposals.extend(reading.proposals_count(&account.id).await?);
        gauges.nodes += tally(&mut reading, &account.id, now).await?;
        for stored in reading.rollouts_holding_counts(&account.id).await? {
            gauges.rollouts.push(stored.rollout.status);
            gauges.nodes_waiting += stored.counts.waiting;
        }
    }
    metrics::set_account_gauges(&gauges);
    compact_metrics();
    Ok(())
}

/// Closes proposals that nobody decided, or that could not be applied, in time.
async fn expire(server: &Control, now: Timestamp) -> Result<(), StoreError> {
    let mut accounts: BTreeMap<AccountId, Vec<ProposalId>> = BTreeMap::new();
    for (account_id, id) in server.store().read().await?.proposals_expired(now).await? {
        accounts.entry(account_id).or_default().push(id);
    }
    for (account_id, ids) in accounts {
        let mut writing = server.store().write_account(&account_id).await?;
        let ids: Vec<&ProposalId> = ids.iter().collect();
        let mut expired = writing.proposals_by_id(&account_id, &ids).await?;
        expired.retain(|proposal| Status::Expired.may_follow(proposal.status));
        let kept = waiting_for_window(&mut writing, &account_id, &expired, now).await?;
        expired.retain(|proposal| !kept.iter().any(|(id, _)| *id == proposal.id));
        let kept: Vec<(&ProposalId, Timestamp)> = kept.iter().map(|(id, until)| (id, *until)).collect();
        writing.proposals_set_expiry(&kept).await?;
        let reasons: Vec<CloseReason> = expired.iter().map(expiry_reason).collect();
        let endings: Vec<ProposalClosing<'_>> = expired
            .iter()
            .zip(&reasons)
            .map(|(proposal, reason)| ProposalClosing::new(proposal, Status::Expired, Some(reason)))
            .collect();
        close_proposals(&mut writing, &endings, None, now).await?;
        server.commit(writing).await?;
    }
    Ok(())
}

/// Expired proposals that stay open, each with its new expiry: approved ones that only their window blocks.
async fn waiting_for_window(
    writing: &mut AccountWriting,
    account_id: &AccountId,
    expired: &[Proposal],
    now: Timestamp,
) -> Result<Vec<(ProposalId, Timestamp)>, StoreError> {
    let approved: Vec<&Proposal> =
        expired.iter().filter(|proposal| proposal.status == Status::Approved).collect();
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

    async fn add_events(store: &Store, at: Timestamp, count: usize) {
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

    async fn count_events(store: &Store) -> usize {
        let mut reading = store.read().await.expect("a connection");
        let order = EventOrder::OldestAfter(0);
        reading
            .events(&AccountId::installation(), &EventFilter::default(), order, 1_000)
            .await
            .expect("events")
            .len()
    }

    #[tokio::test]
    async fn a_turn_deletes_at_most_its_limits_and_the_next_continues() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let address = Address::Sqlite(directory.path().join("windlass.db"));
        let store = Store::open(&address).await.expect("a fresh database");
        let now = Timestamp::from_millis(1_700_000_000_000);
        add_events(&store, now.minus(2 * RUN_RETENTION), 35).await;
        add_events(&store, now, 3).await;
        let bounds = DeleteBounds { rows: 10, transactions: 2 };
        for expected in [18, 3, 3] {
            delete_old_rows(&store, now, bounds).await.expect("old events can be deleted");
            assert_eq!(count_events(&store).await, expected);
        }
    }
}
