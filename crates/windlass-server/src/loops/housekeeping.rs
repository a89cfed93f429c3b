//! What time alone changes: proposals expire, old records are forgotten.

use std::time::Duration;

use serde_json::json;
use windlass_core::proposal::Status;
use windlass_core::time::Timestamp;
use windlass_store::{Actor, Moved, StoreError};

use super::every;
use crate::clock::now;
use crate::server::Server;
use crate::{apply, tell};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// How long runs, closed proposals and events are kept.
const KEPT: Duration = Duration::from_secs(90 * DAY.as_secs());

/// How long those are kept that tell of failures.
const FAILURES_KEPT: Duration = Duration::from_secs(365 * DAY.as_secs());

/// How long a request can be repeated with the same idempotency key.
const ANSWERS_KEPT: Duration = DAY;

/// Works until the server stops.
pub(super) async fn run_loop(server: Server) {
    // A short life is over when it says so, not when the next cleaning comes round.
    let rhythm = server.config().rhythm.housekeeping.min(server.config().rhythm.proposal_lifetime);
    every(&server, "housekeeping", &server.nudges().housekeeping, rhythm, turn).await;
}

async fn turn(server: &Server) -> Result<(), StoreError> {
    let now = now();
    server.retry_writing(now).await?;
    expire(server, now).await?;
    let mut writing = server.store().write().await?;
    let (old, very_old) = (now.before(KEPT), now.before(FAILURES_KEPT));
    writing.acceptances_forget(now).await?;
    writing.sessions_forget(now).await?;
    writing.answers_forget(now.before(ANSWERS_KEPT)).await?;
    writing.throttles_forget(now.before(DAY)).await?;
    writing.leases_forget(now.before(DAY)).await?;
    writing.runs_forget(old, very_old).await?;
    writing.proposals_forget(old, very_old).await?;
    writing.events_forget(old, very_old).await?;
    writing.commit().await
}

/// Ends proposals that nobody decided, or that could not be applied, in time.
async fn expire(server: &Server, now: Timestamp) -> Result<(), StoreError> {
    let expired = server.store().read().await?.proposals_expired(now).await?;
    for (account_id, id) in expired {
        let mut writing = server.store().write_account(&account_id).await?;
        let Some(proposal) = writing.proposal(&account_id, &id).await? else { continue };
        if !Status::Expired.may_follow(proposal.status) {
            continue;
        }
        let reason = why_expired(proposal.status, &proposal.blocked_by);
        let moved = Moved {
            from: proposal.status,
            to: Status::Expired,
            reason: Some(&reason),
            decided_by: None,
            until_change: false,
            at: now,
        };
        if writing.proposal_move(&id, &moved).await? {
            let event = tell::proposal_event(
                &proposal,
                &proposal.run_id,
                Status::Expired,
                "windlass",
                Some(&reason),
                now,
            );
            writing.event(event);
            let entry = tell::entry(&Actor::windlass(), "proposal.expire", ("proposal", &id), json!({}), now);
            writing.audit(entry);
            apply::settle_runs(&mut writing, &[&id], None, now).await?;
            server.commit(writing).await?;
        }
    }
    Ok(())
}

/// Why time ran out: because nobody decided, or because something stayed in the way of what was approved.
fn why_expired(status: Status, blocked_by: &[String]) -> String {
    let why = match (status, blocked_by) {
        (Status::Approved, []) => "it was approved but could not be applied in time".to_owned(),
        (Status::Approved, reasons) => {
            format!("it was approved but could not be applied in time: {}", reasons.join("; "))
        }
        _ => "nobody decided in time".to_owned(),
    };
    format!("{why}; the next sync offers it again")
}
