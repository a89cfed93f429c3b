//! What time alone changes: proposals expire, old records are forgotten.

use std::collections::BTreeMap;
use std::time::Duration;

use windlass_core::apply::governing_repository;
use windlass_core::proposal::{Proposal, Status, expires_at};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, StoreError};

use crate::clock::now;
use crate::control::Control;
use crate::flow::close::ending::{Ending, end_all};
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::metrics::{self, Standing, tidy_numbers};
use crate::pace::every;

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long runs, closed proposals and events are kept.
const KEPT: Duration = Duration::from_secs(90 * DAY.as_secs());

/// How long those are kept that tell of failures.
const FAILURES_KEPT: Duration = Duration::from_secs(365 * DAY.as_secs());

/// How long previews are kept.
const PREVIEWS_KEPT: Duration = Duration::from_secs(30 * DAY.as_secs());

/// How long the log of notifications goes back.
const DELIVERIES_KEPT: Duration = Duration::from_secs(30 * DAY.as_secs());

/// How long a request can be repeated with the same idempotency key.
const ANSWERS_KEPT: Duration = DAY;

/// How long a test of a repository that is not registered is held after servers died of it: nobody can release it.
const TESTS_HELD: Duration = Duration::from_secs(7 * DAY.as_secs());

/// How long a webhook's delivery cannot be repeated.
const WEBHOOKS_KEPT: Duration = DAY;

/// Subjects whose failed sign-ins are kept at once. Turns to verify passwords bound how many can be added in a minute.
const MOST_FAILURES: usize = 50_000;

/// How long it is remembered from where someone signed in.
const PLACES_KEPT: Duration = Duration::from_secs(90 * DAY.as_secs());

/// Works until the server stops.
pub(crate) async fn run_loop(server: Control) {
    // A short life is over when it says so, not when the next cleaning comes round.
    let rhythm = server.config().rhythm.housekeeping.min(server.config().rhythm.proposal_lifetime);
    every(&server, "housekeeping", &server.nudges().housekeeping, rhythm, turn).await;
}

async fn turn(server: &Control) -> Result<(), StoreError> {
    let now = now();
    server.retry_writing(now).await?;
    expire(server, now).await?;
    let mut writing = server.store().write().await?;
    let (old, very_old) = (now.before(KEPT), now.before(FAILURES_KEPT));
    writing.acceptances_forget(now).await?;
    writing.sessions_forget(now).await?;
    writing.invitations_forget(now).await?;
    writing.answers_forget(now.before(ANSWERS_KEPT)).await?;
    writing.suspicions_of_tests_forget(now.before(TESTS_HELD)).await?;
    writing.webhook_deliveries_forget(now.before(WEBHOOKS_KEPT)).await?;
    writing.failures_forget(now.before(DAY), MOST_FAILURES).await?;
    writing.sign_in_places_forget(now.before(PLACES_KEPT)).await?;
    writing.pushes_forget(old).await?;
    writing.leases_forget(now.before(DAY)).await?;
    writing.previews_forget(now.before(PREVIEWS_KEPT)).await?;
    writing.runs_forget(old, very_old).await?;
    writing.plans_forget(old).await?;
    writing.proposals_forget(old, very_old).await?;
    writing.content_differences_forget(old).await?;
    writing.events_forget(old, very_old).await?;
    writing.deliveries_forget(now.before(DELIVERIES_KEPT)).await?;
    writing.forge_reports_forget(old).await?;
    writing.commit().await?;
    count(server).await
}

/// Tells how things stand on the whole.
async fn count(server: &Control) -> Result<(), StoreError> {
    let mut reading = server.store().read().await?;
    let mut standing = Standing::default();
    for account in reading.accounts().await? {
        standing.halted += usize::from(account.halt.is_some());
        standing.drifted += reading.drifts_count(&account.id).await?;
        standing.proposals.extend(reading.proposals_count(&account.id).await?);
    }
    metrics::standing(&standing);
    tidy_numbers();
    Ok(())
}

/// Ends proposals that nobody decided, or that could not be applied, in time.
async fn expire(server: &Control, now: Timestamp) -> Result<(), StoreError> {
    let mut accounts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (account_id, id) in server.store().read().await?.proposals_expired(now).await? {
        accounts.entry(account_id).or_default().push(id);
    }
    for (account_id, ids) in accounts {
        let mut writing = server.store().write_account(&account_id).await?;
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let mut late = writing.proposals_by_id(&account_id, &ids).await?;
        late.retain(|proposal| Status::Expired.may_follow(proposal.status));
        let kept = kept_for_windows(&mut writing, &account_id, &late, now).await?;
        late.retain(|proposal| !kept.iter().any(|(id, _)| *id == proposal.id));
        let kept: Vec<(&str, Timestamp)> = kept.iter().map(|(id, until)| (id.as_str(), *until)).collect();
        writing.proposals_keep_until(&kept).await?;
        let reasons: Vec<String> = late.iter().map(why_expired).collect();
        let endings: Vec<Ending<'_>> = late
            .iter()
            .zip(&reasons)
            .map(|(proposal, reason)| Ending::new(proposal, Status::Expired, Some(reason)))
            .collect();
        end_all(&mut writing, &endings, None, now).await?;
        server.commit(writing).await?;
    }
    Ok(())
}

/// Proposals whose time is up and that keep nevertheless, each until when: approved ones that wait for nothing but their
/// window.
async fn kept_for_windows(
    writing: &mut AccountWriting,
    account_id: &str,
    late: &[Proposal],
    now: Timestamp,
) -> Result<Vec<(String, Timestamp)>, StoreError> {
    let approved: Vec<&Proposal> =
        late.iter().filter(|proposal| proposal.status == Status::Approved).collect();
    let Some(account) = writing.account(account_id).await?.filter(|_| !approved.is_empty()) else {
        return Ok(Vec::new());
    };
    let ids: Vec<&str> = approved.iter().map(|proposal| proposal.id.as_str()).collect();
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

/// Why time ran out: because nobody decided, or because something stayed in the way of what was approved.
fn why_expired(proposal: &Proposal) -> String {
    let why = match (proposal.status, proposal.blocked_by.as_slice()) {
        (Status::Approved, []) => "it was approved but could not be applied in time".to_owned(),
        (Status::Approved, reasons) => {
            format!("it was approved but could not be applied in time: {}", reasons.join("; "))
        }
        _ => "nobody decided in time".to_owned(),
    };
    match proposal.is_direct() {
        true => format!("{why}; whoever still wants it asks for it again"),
        false => format!("{why}; the next sync offers it again"),
    }
}
