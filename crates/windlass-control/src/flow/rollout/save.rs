//! Stores how rollouts stand, with the events that tell people.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::json;
use windlass_core::event::{EventKind, Severity};
use windlass_core::id::{ProposalId, RolloutId};
use windlass_core::resource::ResourceKey;
use windlass_core::rollout::{NewRollout, RolloutCounts, RolloutDecisions, RolloutStatus, RolloutUpdate};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, StoreError, StoredRollout};

use crate::record::RolloutEvent;

/// Who causes the events of the loop.
const SOURCE: &str = "windlass";

/// Whether there is anything to store.
pub(crate) fn has_changes(holding: &[StoredRollout], decided: &RolloutDecisions) -> bool {
    !decided.started.is_empty() || decided.updated.iter().any(|update| is_changed(holding, update))
}

fn is_changed(holding: &[StoredRollout], update: &RolloutUpdate) -> bool {
    let Some(stored) = find(holding, &update.id) else { return false };
    let before = (stored.rollout.status, &stored.rollout.reason, stored.hold, stored.counts);
    before != (update.status, &update.reason, update.hold, update.counts) || !update.changed.is_empty()
}

fn find<'h>(holding: &'h [StoredRollout], id: &RolloutId) -> Option<&'h StoredRollout> {
    holding.iter().find(|stored| stored.rollout.id == *id)
}

/// Stores what was decided. False if nothing changed.
pub(crate) async fn save_rollouts(
    writing: &mut AccountWriting,
    holding: &[StoredRollout],
    decided: &RolloutDecisions,
    causes: &BTreeMap<ResourceKey, Vec<ProposalId>>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    let account_id = writing.account_id().clone();
    let mut has_saved = false;
    for update in decided.updated.iter().filter(|update| is_changed(holding, update)) {
        let Some(stored) = find(holding, &update.id) else { continue };
        has_saved |= writing.rollout_update(&account_id, stored.rollout.status, update, now).await?;
        for event in update_events(stored, update) {
            writing.event(event.event(&update.id, &stored.rollout.governed_by, now));
        }
    }
    for new in &decided.started {
        let proposals = causes.get(&new.governed_by).map(Vec::as_slice).unwrap_or_default();
        let id = writing.rollout_start(&account_id, new, proposals, now).await?;
        has_saved = true;
        for event in start_events(new) {
            writing.event(event.event(&id, &new.governed_by, now));
        }
    }
    Ok(has_saved)
}

fn start_events(new: &NewRollout) -> Vec<RolloutEvent<'static>> {
    let waves: BTreeSet<&str> = new.nodes.values().map(|node| node.wave.as_str()).collect();
    let counts: RolloutCounts = new.nodes.values().map(|node| node.state).collect();
    let (nodes, waves) = (count(new.nodes.len(), "node"), count(waves.len(), "wave"));
    let message = format!("a change begins to move over {nodes} in {waves}, as {} says", new.governed_by);
    let mut events = vec![event(EventKind::RolloutStarted, Severity::Low, message, counts)];
    events.extend(status_event(&new.governed_by, new.status, new.reason.as_deref(), counts));
    events
}

fn update_events(stored: &StoredRollout, update: &RolloutUpdate) -> Vec<RolloutEvent<'static>> {
    let governed_by = &stored.rollout.governed_by;
    let wave = |(wave, nodes): (&String, &usize)| {
        let message =
            format!("the rollout of {governed_by} reached wave {wave} with {}", count(*nodes, "node"));
        event(EventKind::RolloutWaveStarted, Severity::Low, message, update.counts)
    };
    let mut events: Vec<_> = update.waves_started.iter().map(wave).collect();
    if update.status != stored.rollout.status {
        events.extend(status_event(governed_by, update.status, update.reason.as_deref(), update.counts));
    }
    events
}

/// The event of a status that a rollout reaches by itself.
fn status_event(
    governed_by: &ResourceKey,
    status: RolloutStatus,
    reason: Option<&str>,
    counts: RolloutCounts,
) -> Option<RolloutEvent<'static>> {
    let (kind, severity, what) = match status {
        RolloutStatus::Stopped => (EventKind::RolloutStopped, Severity::High, "stopped"),
        RolloutStatus::Completed => (EventKind::RolloutCompleted, Severity::Low, "is complete"),
        RolloutStatus::Superseded => (EventKind::RolloutSuperseded, Severity::Low, "was superseded"),
        RolloutStatus::Running | RolloutStatus::Paused | RolloutStatus::Promoted | RolloutStatus::Aborted => {
            return None;
        }
    };
    let why = reason.map(|reason| format!(": {reason}")).unwrap_or_default();
    Some(event(kind, severity, format!("the rollout of {governed_by} {what}{why}"), counts))
}

fn event(
    kind: EventKind,
    severity: Severity,
    message: String,
    counts: RolloutCounts,
) -> RolloutEvent<'static> {
    RolloutEvent { kind, severity, by: SOURCE, message, payload: json!({"counts": counts}) }
}

fn count(number: usize, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
