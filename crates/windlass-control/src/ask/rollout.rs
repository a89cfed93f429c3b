//! Rollouts: list, show, pause, resume, abort, promote.

use serde::Deserialize;
use serde_json::json;
use windlass_api::types::{
    RolloutDecisionBody, RolloutEnvelope, RolloutInfo, RolloutList, RolloutNodeInfo, RolloutWave,
};
use windlass_core::event::{EventKind, Severity};
use windlass_core::id::RolloutId;
use windlass_core::rollout::{
    Rollout, RolloutAction, RolloutCounts, RolloutNodeState, RolloutPlan, RolloutStatus,
};
use windlass_store::{AuditEntry, Outcome, Reading, RolloutDecision, RolloutFilter, StoredRollout};

use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::page::{PageQuery, cut, read_id};
use crate::record;
use crate::refusal::Refusal;

/// The most nodes that an answer lists.
const MAX_NODES: usize = 1_000;

/// The longest reason that is kept.
const MAX_REASON_CHARS: usize = 500;

/// Which rollouts a request selects.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct RolloutQuery {
    /// Only in these states, separated by commas; `open` for all that are not over.
    pub status: Option<String>,
    /// Only those with this node.
    pub node: Option<String>,
}

impl RolloutQuery {
    fn filter(&self) -> Result<RolloutFilter, Refusal> {
        let words = self.status.iter().flat_map(|text| text.split(',')).map(str::trim);
        let mut statuses = Vec::new();
        for word in words.filter(|word| !word.is_empty()) {
            match word {
                "open" => statuses.extend(RolloutStatus::ALL.iter().filter(|status| status.is_open())),
                word => statuses.push(word.parse::<RolloutStatus>().map_err(unknown_word)?),
            }
        }
        Ok(RolloutFilter { statuses, node: self.node.clone().filter(|node| !node.is_empty()) })
    }
}

fn unknown_word(unknown: windlass_core::states::UnknownWord) -> Refusal {
    Refusal::bad_request(unknown.to_string(), "")
}

/// A rollout as responses show it.
pub fn info(stored: &StoredRollout) -> RolloutInfo {
    let Rollout { id, governed_by, rollout, status, reason, .. } = &stored.rollout;
    RolloutInfo {
        id: id.to_string(),
        governed_kind: governed_by.kind.slug().to_owned(),
        governed_name: governed_by.name.clone(),
        status: *status,
        reason: reason.clone(),
        counts: stored.counts.into(),
        max_unavailable: rollout.max_unavailable.to_string(),
        failure_threshold: rollout.failure_threshold.to_string(),
        pause: rollout.pause.map(|pause| pause.to_string()),
        offline: rollout.offline.word().to_owned(),
        proposals: stored.proposals.iter().map(ToString::to_string).collect(),
        actions: status.actions(stored.hold),
        started_at: stored.started_at.to_string(),
        updated_at: stored.updated_at.to_string(),
        ended_at: stored.ended_at.map(|at| at.to_string()),
    }
}

/// A page of rollouts, newest first.
pub async fn load_page(
    reading: &mut Reading,
    who: &Identity,
    query: &RolloutQuery,
    page: &PageQuery,
) -> Result<RolloutList, Refusal> {
    let limit = page.limit()?;
    let before = page.after_as(read_id)?;
    let filter = query.filter()?;
    let mut found = reading.rollouts(&who.account_id, &filter, before.as_ref(), limit + 1).await?;
    let meta = cut(&mut found, limit, |stored| stored.rollout.id.to_string());
    Ok(RolloutList { rollouts: found.iter().map(info).collect(), meta })
}

/// A rollout with every node of it.
pub async fn load(reading: &mut Reading, who: &Identity, id: &RolloutId) -> Result<StoredRollout, Refusal> {
    reading.rollout(&who.account_id, id).await?.ok_or_else(Refusal::not_found)
}

/// A rollout with the nodes in certain states: words separated by commas, or `all`; without any, the failed ones.
pub async fn show(
    reading: &mut Reading,
    who: &Identity,
    id: &RolloutId,
    states: Option<&str>,
) -> Result<RolloutEnvelope, Refusal> {
    let states = read_states(states)?;
    Ok(envelope(&load(reading, who, id).await?, &states))
}

fn read_states(text: Option<&str>) -> Result<Vec<RolloutNodeState>, Refusal> {
    match text {
        None | Some("") => Ok(vec![RolloutNodeState::Failed]),
        Some("all") => Ok(RolloutNodeState::ALL.to_vec()),
        Some(words) => {
            words.split(',').map(|word| word.trim().parse().map_err(unknown_word)).collect::<Result<_, _>>()
        }
    }
}

fn envelope(stored: &StoredRollout, states: &[RolloutNodeState]) -> RolloutEnvelope {
    let waves = waves(&stored.rollout);
    let mut nodes: Vec<RolloutNodeInfo> = waves
        .iter()
        .flat_map(|(_, nodes)| nodes)
        .filter(|node| states.contains(&node.state))
        .take(MAX_NODES + 1)
        .cloned()
        .collect();
    nodes.truncate(MAX_NODES);
    let in_states: usize = states.iter().map(|state| stored.counts.of(*state)).sum();
    RolloutEnvelope {
        rollout: info(stored),
        waves: waves.iter().map(|(wave, _)| wave.clone()).collect(),
        nodes_left_out: in_states.saturating_sub(nodes.len()),
        nodes,
    }
}

/// The waves of a rollout in order, each with its nodes by name.
pub fn waves(rollout: &Rollout) -> Vec<(RolloutWave, Vec<RolloutNodeInfo>)> {
    let members = rollout.nodes.iter().map(|(name, node)| (name.as_str(), node.wave.as_str()));
    let plan = RolloutPlan::resume(&rollout.rollout, members);
    let of_wave = |wave: &windlass_core::rollout::Wave| {
        let nodes: Vec<RolloutNodeInfo> =
            wave.nodes.iter().filter_map(|name| node_info(rollout, name)).collect();
        let counts: RolloutCounts = nodes.iter().map(|node| node.state).collect();
        (RolloutWave { name: wave.name.clone(), counts: counts.into() }, nodes)
    };
    plan.waves().iter().map(of_wave).collect()
}

fn node_info(rollout: &Rollout, name: &str) -> Option<RolloutNodeInfo> {
    let node = rollout.nodes.get(name)?;
    Some(RolloutNodeInfo {
        node: name.to_owned(),
        wave: node.wave.clone(),
        state: node.state,
        message: node.message.clone(),
        tolerated: rollout.tolerated.contains(name),
        released_at: node.released_at.map(|at| at.to_string()),
        settled_at: node.settled_at.map(|at| at.to_string()),
    })
}

/// Carries out somebody's decision about a rollout. The loop that assigns documents acts on it.
pub async fn decide(
    server: &Control,
    who: &Identity,
    id: &RolloutId,
    action: RolloutAction,
    body: &RolloutDecisionBody,
) -> Result<RolloutEnvelope, Refusal> {
    let reason: String = body.reason.trim().chars().take(MAX_REASON_CHARS).collect();
    if reason.is_empty() {
        let help = "say why; the reason is recorded in the audit log";
        return Err(Refusal::unprocessable(
            "reason-missing",
            "a decision about a rollout needs a reason",
            help,
        ));
    }
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let stored = load(&mut writing, who, id).await?;
    let from = stored.rollout.status;
    let detail = json!({"reason": reason, "from": from, "governed_by": stored.rollout.governed_by.to_string(),
        "counts": stored.counts});
    let entry = record::audit_entry(
        &who.actor(),
        audit_action(action),
        ("rollout", id.as_str()),
        detail.clone(),
        now,
    );
    let is_as_seen = body.status.is_none_or(|seen| seen == from);
    let Some(status) = from.after(action, stored.hold).filter(|_| is_as_seen) else {
        writing.audit(AuditEntry { outcome: Outcome::Refused, ..entry });
        writing.keep_state();
        server.commit(writing).await?;
        return Err(refusal(&stored, action, body.status));
    };
    let decision = RolloutDecision {
        status,
        reason: (action != RolloutAction::Resume)
            .then(|| format!("{} by {}: {reason}", action.past(), who.email)),
        tolerated: stored.rollout.tolerated_after(action),
    };
    if !writing.rollout_decide(&who.account_id, id, from, &decision, now).await? {
        return Err(Refusal::changed_meanwhile());
    }
    writing.audit(entry);
    let governed_by = &stored.rollout.governed_by;
    let event = record::RolloutEvent {
        kind: event_kind(action),
        severity: Severity::Medium,
        by: &who.email,
        message: format!("{} {} the rollout of {governed_by}: {reason}", who.email, action.past()),
        payload: detail,
    };
    writing.event(event.event(id, governed_by, now));
    writing.keep_state();
    let stored = load(&mut writing, who, id).await?;
    server.commit(writing).await?;
    Ok(envelope(&stored, &[RolloutNodeState::Failed]))
}

const fn audit_action(action: RolloutAction) -> &'static str {
    match action {
        RolloutAction::Pause => "rollout.pause",
        RolloutAction::Resume => "rollout.resume",
        RolloutAction::Abort => "rollout.abort",
        RolloutAction::Promote => "rollout.promote",
    }
}

const fn event_kind(action: RolloutAction) -> EventKind {
    match action {
        RolloutAction::Pause => EventKind::RolloutPaused,
        RolloutAction::Resume => EventKind::RolloutResumed,
        RolloutAction::Abort => EventKind::RolloutAborted,
        RolloutAction::Promote => EventKind::RolloutPromoted,
    }
}

/// Why a decision is not possible: what happened meanwhile.
fn refusal(stored: &StoredRollout, action: RolloutAction, seen: Option<RolloutStatus>) -> Refusal {
    let Rollout { status, reason, .. } = &stored.rollout;
    let why = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let message = match seen {
        Some(seen) if seen != *status => format!("the rollout was {seen}, and is {status} now{why}"),
        _ => format!("the rollout is {status}{why}"),
    };
    let possible: Vec<&str> = status.actions(stored.hold).iter().map(|action| action.slug()).collect();
    let help = match possible.is_empty() {
        true => format!("it cannot {action} any more: it is over"),
        false => format!("now you can: {}", possible.join(", ")),
    };
    Refusal::conflict("rollout-changed", message, help).mark_recorded()
}
