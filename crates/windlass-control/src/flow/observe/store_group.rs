//! Stores the reports of a group in one transaction, and answers each.

use std::collections::BTreeMap;
use std::time::Instant;

use windlass_api::agent::{NewerReport, ReportReceipt};
use windlass_core::id::AgentId;
use windlass_core::time::Timestamp;
use windlass_store::{DriftItemsChange, NewAgentEvent, NewNodeReport, ObservedChange, StoreError, Writing};

use crate::clock::now;
use crate::control::Control;
use crate::flow::observe::drift_items::{ItemChanges, item_changes};
use crate::flow::observe::group::{MergedReport, MergedTarget, TargetKey, merge_group};
use crate::metrics::{self, ReportOutcome};
use crate::refusal::{Refusal, RefusalKind};
use crate::reports::queue::QueuedReport;

/// Stores a group. If that fails because of one of the reports, the others are stored one by one.
pub(crate) async fn store_group(server: &Control, group: Vec<QueuedReport>) {
    let error = match write_group(server, &group).await {
        Ok(results) => {
            group.into_iter().zip(results).for_each(|(queued, result)| answer(queued, result));
            return;
        }
        Err(error) => error,
    };
    let is_of_the_database =
        matches!(error, StoreError::Database(_) | StoreError::DiskFull(_) | StoreError::ReadOnly(_));
    if is_of_the_database || group.len() == 1 {
        tracing::warn!(%error, reports = group.len(), "reports of agents could not be stored");
        group.into_iter().for_each(|queued| answer(queued, Err(unavailable())));
        return;
    }
    for queued in group {
        let result = write_group(server, std::slice::from_ref(&queued)).await;
        let result = result.ok().and_then(|mut results| results.pop());
        answer(queued, result.unwrap_or_else(|| Err(unavailable())));
    }
}

fn unavailable() -> Refusal {
    let help = "send the report again later";
    Refusal::new(RefusalKind::Unavailable, "database-unwritable", "the report could not be stored", help)
        .after_seconds(5)
}

/// Answers a report. An agent that no longer waits sends the report again.
fn answer(queued: QueuedReport, result: Result<ReportReceipt, Refusal>) {
    let outcome = if result.is_ok() { ReportOutcome::Stored } else { ReportOutcome::Refused };
    metrics::report(outcome, queued.queued_at.elapsed());
    let _ = queued.receipt.send(result);
}

/// Writes a group, and returns the answer to each report.
async fn write_group(
    server: &Control,
    group: &[QueuedReport],
) -> Result<Vec<Result<ReportReceipt, Refusal>>, StoreError> {
    let now = now();
    let mut writing = server.store().write().await?;
    // In the order of their ids, so that two replicas lock them in the same order.
    let mut ids: Vec<&AgentId> = group.iter().map(|queued| &queued.agent.id).collect();
    ids.sort_unstable();
    ids.dedup();
    let agents = writing.agents_contact(&ids, now).await?;
    let keys: Vec<TargetKey> =
        agents.iter().map(|agent| (agent.account_id.clone(), agent.target.clone())).collect();
    let keys: Vec<_> = keys.iter().map(|(account_id, target)| (account_id, target)).collect();
    let observed = writing.observed_of(&keys).await?;
    let reports = group.iter().map(|queued| (&queued.agent, &queued.checked));
    let (targets, results) = merge_group(reports, &agents, observed);
    let events = save(server, &mut writing, &targets, now).await?;
    let stored = writing.node_reports_of(&keys).await?;
    let wanted: BTreeMap<TargetKey, bool> =
        stored.into_iter().map(|(key, report)| (key, report.is_complete_report_wanted())).collect();
    let begun = Instant::now();
    writing.commit().await?;
    metrics::transaction_committed(begun.elapsed());
    server.note_write();
    server.wake_rollouts();
    if events > 0 {
        server.nudges().agent_events.notify_one();
    }
    let answers = group.iter().zip(results).map(|(queued, result)| {
        let key = (queued.agent.account_id.clone(), queued.agent.target.clone());
        receipt(queued, result, wanted.get(&key).copied().unwrap_or(false))
    });
    Ok(answers.collect())
}

fn receipt(queued: &QueuedReport, result: MergedReport, is_wanted: bool) -> Result<ReportReceipt, Refusal> {
    match result {
        MergedReport::Merged { needs_complete, newer } => Ok(ReportReceipt {
            sequence: queued.checked.report.order.sequence,
            send_complete: needs_complete || is_wanted,
            newer: newer
                .map(|order| NewerReport { generation: order.generation.0, sequence: order.sequence }),
        }),
        MergedReport::TooManyModules => Err(Refusal::bad_request(
            "invalid report: more modules than a node can have",
            "send a complete report",
        )),
        MergedReport::Revoked => Err(Refusal::forbidden("this agent was revoked", "enrol the node again")),
    }
}

/// Writes everything, and returns the number of events.
async fn save(
    server: &Control,
    writing: &mut Writing,
    targets: &BTreeMap<TargetKey, MergedTarget>,
    now: Timestamp,
) -> Result<usize, StoreError> {
    let keys: Vec<_> = targets.keys().map(|(account_id, target)| (account_id, target)).collect();
    let stored = writing.node_drift_heads(&keys).await?;
    let changes: Vec<(&TargetKey, &MergedTarget, ItemChanges)> = targets
        .iter()
        .map(|(key, merged)| (key, merged, item_changes(merged, stored.get(key).map_or(&[], Vec::as_slice))))
        .collect();
    let observed: Vec<ObservedChange<'_>> = targets
        .iter()
        .map(|((account_id, target), merged)| ObservedChange {
            account_id,
            target,
            before: &merged.before,
            after: &merged.after,
        })
        .collect();
    writing.observed_save_all(&observed).await?;
    let (mut reports, mut events) = (Vec::new(), Vec::new());
    for (key, merged, items) in &changes {
        let (allowed, dropped) = allowed_events(server, key, merged, now);
        events.extend(allowed);
        reports.push(NewNodeReport {
            account_id: &key.0,
            target: &key.1,
            at: now,
            complete_at: merged.is_complete.then_some(now),
            drift_left_out: merged.left_out.map(|left_out| left_out.saturating_add(items.left_out)),
            events_dropped: merged.events_dropped.saturating_add(dropped),
            facts: merged.facts.as_ref(),
        });
    }
    writing.node_reports_put(&reports).await?;
    let number_of_events = events.len();
    writing.agent_events_add(events).await?;
    let items: Vec<DriftItemsChange<'_>> = changes
        .into_iter()
        .map(|((account_id, target), _, items)| DriftItemsChange {
            account_id,
            target,
            gone: items.gone,
            changed: items.changed,
        })
        .collect();
    writing.node_drift_save(&items).await?;
    Ok(number_of_events)
}

/// The events of a target that its rate allows, and how many were dropped: an agent that misbehaves must not fill the
/// database.
fn allowed_events(
    server: &Control,
    (account_id, target): &TargetKey,
    merged: &MergedTarget,
    now: Timestamp,
) -> (Vec<NewAgentEvent>, u64) {
    let subject = format!("{account_id} {target}");
    let moment = Instant::now();
    let (mut allowed, mut dropped) = (Vec::new(), 0);
    for event in &merged.events {
        if server.rate_limits().agent_events.take(&subject, moment).is_err() {
            dropped += 1;
            continue;
        }
        allowed.push(NewAgentEvent {
            account_id: account_id.clone(),
            target: target.clone(),
            kind: event.kind,
            severity: event.severity,
            message: event.message.clone(),
            payload: event.payload.clone(),
            at: now,
        });
    }
    metrics::agent_events_dropped(dropped);
    (allowed, dropped)
}
