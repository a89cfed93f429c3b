//! Tells agents what changed, and stores when each was last heard of.
//!
//! A turn reads the assignments that changed and the agents that were revoked since the last turn: two statements, however many
//! agents are connected. A nudge of `agents` is relayed to the other replicas, whose agents may have the news.

use std::time::{Duration, Instant};

use windlass_core::time::Timestamp;
use windlass_store::StoreError;

use crate::agents::hub::Hub;
use crate::clock::now;
use crate::control::Control;
use crate::pace::{LoopPace, WaitResult, wait_for_nudge};

/// The name of the loop in problems and metrics.
const PART: &str = "agents";

/// How often the loop looks without a nudge: a nudge from another replica can get lost.
const INTERVAL: Duration = Duration::from_secs(2);

/// How often contacts are stored.
const CONTACT_INTERVAL: Duration = Duration::from_secs(10);

/// How far a turn looks back before what it saw last. Transactions commit in another order than their times say, and the clocks
/// of replicas differ.
const OVERLAP: Duration = Duration::from_secs(10);

/// How often a turn reads all assignments, in case the clocks differ more than that.
const COMPLETE_INTERVAL: Duration = Duration::from_secs(60);

/// How far a complete turn looks back for revoked agents. Each request of a revoked agent is refused anyway.
const REVOKED_LOOK_BACK: Duration = Duration::from_secs(3600);

/// A nudge arrives long before; this only bounds one wait.
const RELAY_WAIT: Duration = Duration::from_secs(3600);

/// Runs until the server stops.
pub(crate) async fn run_loop(server: Control) {
    tokio::join!(tell_agents(&server), relay_nudges(&server));
}

/// Passes nudges on to the loop of this replica and to the other replicas.
async fn relay_nudges(server: &Control) {
    while wait_for_nudge(server, &server.nudges().agents, RELAY_WAIT).await == WaitResult::Over {
        server.hub().wake();
        if let Err(error) = server.store().notify_of_agents().await {
            server.report_problem(PART, &error);
        }
    }
}

async fn tell_agents(server: &Control) {
    let pace = LoopPace { part: PART, nudge: server.hub().waker(), interval: INTERVAL };
    let mut seen = SeenNews::new(now());
    while !server.is_stopping() {
        let begun = Instant::now();
        let turned = turn(server, &mut seen).await;
        if pace.wait_for_next_turn(server, begun, turned).await == WaitResult::Stopping {
            break;
        }
    }
    if let Err(error) = store_contacts(server, server.hub(), now()).await {
        tracing::warn!(%error, "the last contacts of agents were not stored");
    }
}

/// What the loop saw last.
struct SeenNews {
    assigned_at: Timestamp,
    revoked_at: Timestamp,
    complete_at: Timestamp,
    contacts_at: Timestamp,
}

impl SeenNews {
    fn new(now: Timestamp) -> SeenNews {
        SeenNews { assigned_at: now, revoked_at: now, complete_at: now, contacts_at: now }
    }

    /// The times from which on a turn reads assignments and revoked agents.
    fn since(&mut self, now: Timestamp) -> (Timestamp, Timestamp) {
        if now.elapsed_since(self.complete_at) < COMPLETE_INTERVAL {
            return (self.assigned_at.minus(OVERLAP), self.revoked_at.minus(OVERLAP));
        }
        self.complete_at = now;
        (Timestamp::from_millis(0), now.minus(REVOKED_LOOK_BACK))
    }
}

async fn turn(server: &Control, seen: &mut SeenNews) -> Result<(), StoreError> {
    let (hub, now) = (server.hub(), now());
    if !hub.is_empty() {
        read_news(server, hub, seen, now).await?;
    }
    if now.elapsed_since(seen.contacts_at) >= CONTACT_INTERVAL {
        store_contacts(server, hub, now).await?;
        seen.contacts_at = now;
    }
    Ok(())
}

async fn read_news(
    server: &Control,
    hub: &Hub,
    seen: &mut SeenNews,
    now: Timestamp,
) -> Result<(), StoreError> {
    let (assigned_since, revoked_since) = seen.since(now);
    let mut reading = server.store().read().await?;
    let revoked = reading.agents_revoked_since(revoked_since).await?;
    hub.end_revoked(&revoked);
    let assigned = reading.assignments_since(assigned_since).await?;
    drop(reading);
    hub.tell_assignments(&assigned);
    // A time in the future, by a clock that is ahead, must not hide what others write before it.
    let no_later = |last: Option<Timestamp>, before: Timestamp| last.unwrap_or(before).max(before).min(now);
    seen.assigned_at = no_later(assigned.last().map(|it| it.assigned_at), seen.assigned_at);
    seen.revoked_at = no_later(revoked.last().map(|it| it.revoked_at), seen.revoked_at);
    Ok(())
}

async fn store_contacts(server: &Control, hub: &Hub, now: Timestamp) -> Result<(), StoreError> {
    let due = hub.due_contacts(now);
    if due.is_empty() {
        return Ok(());
    }
    let mut writing = server.store().write().await?;
    writing.agents_contacted(&due).await?;
    writing.commit().await?;
    hub.contacts_stored(&due);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_looks_back_a_little_and_once_a_minute_at_everything() {
        let begin = Timestamp::from_millis(10_000_000);
        let mut seen = SeenNews::new(begin);
        let soon = begin.plus(Duration::from_secs(5));
        assert_eq!(seen.since(soon), (begin.minus(OVERLAP), begin.minus(OVERLAP)));
        let later = begin.plus(COMPLETE_INTERVAL);
        assert_eq!(seen.since(later), (Timestamp::from_millis(0), later.minus(REVOKED_LOOK_BACK)));
        assert_eq!(seen.since(later).0, begin.minus(OVERLAP), "and then again only what is new");
    }
}
