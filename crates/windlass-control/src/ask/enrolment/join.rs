//! A person decides whether a node joins.

use serde_json::json;
use windlass_api::types::{NodeJoinEnvelope, NodeJoinInfo, NodeJoinList};
use windlass_core::enrolment::{JoinState, NodeJoin};
use windlass_core::event::{EventKind, Severity};
use windlass_core::id::JoinId;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, JoinMove, Reading};

use crate::ask::enrolment::record::EnrolmentEvent;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;

/// How many joins a list shows.
const MAX_LISTED: usize = 500;

fn info(join: NodeJoin) -> NodeJoinInfo {
    NodeJoinInfo {
        id: join.id.to_string(),
        node: join.target.name,
        state: join.state,
        address: join.address,
        public_key: join.public_key,
        created_at: join.created_at.to_string(),
        decided_by: join.decided_by,
    }
}

/// The joins that are not finished.
pub async fn load_joins(reading: &mut Reading, who: &Identity) -> Result<NodeJoinList, Refusal> {
    let joins = reading.node_joins(&who.account_id, MAX_LISTED).await?;
    Ok(NodeJoinList { node_joins: joins.into_iter().map(info).collect() })
}

/// What a person decides about a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinDecision {
    /// The node joins.
    Approve,
    /// It does not.
    Reject,
}

impl JoinDecision {
    /// The state, the event and the action in the audit log.
    const fn outcome(self) -> (JoinState, EventKind, &'static str) {
        match self {
            JoinDecision::Approve => (JoinState::Approved, EventKind::AgentJoinApproved, "node_join.approve"),
            JoinDecision::Reject => (JoinState::Rejected, EventKind::AgentJoinRejected, "node_join.reject"),
        }
    }
}

/// Decides whether a node joins.
pub async fn decide_join(
    server: &Control,
    who: &Identity,
    id: &JoinId,
    decision: JoinDecision,
) -> Result<NodeJoinEnvelope, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let join = writing.node_join(&who.account_id, id).await?.ok_or_else(Refusal::not_found)?;
    let (state, ..) = decision.outcome();
    let step = JoinMove { from: JoinState::Pending, to: state, by: &who.email, at: now };
    if !writing.node_join_move(&join.id, step).await? {
        let message = format!("the join was decided already: {}", join.state.slug());
        return Err(Refusal::conflict("decided", message, "see `windlass node join list`"));
    }
    writing.keep_state();
    record_decision(&mut writing, who, &join, decision, now);
    server.commit(writing).await?;
    let decided = NodeJoin { state, decided_by: Some(who.email.clone()), decided_at: Some(now), ..join };
    Ok(NodeJoinEnvelope { node_join: info(decided) })
}

fn record_decision(
    writing: &mut AccountWriting,
    who: &Identity,
    join: &NodeJoin,
    decision: JoinDecision,
    now: Timestamp,
) {
    let (state, kind, action) = decision.outcome();
    let detail = json!({"target": join.target.to_string(), "public_key": join.public_key,
        "address": join.address, "token_id": join.token_id});
    let subject = ("node_join", join.id.as_str());
    writing.audit(record::audit_entry(&who.actor(), action, subject, detail, now));
    let event = EnrolmentEvent {
        kind,
        severity: Severity::Low,
        target: Some(&join.target),
        by: &who.email,
        message: format!(
            "{} {} that a host at {} joins as {}",
            who.email,
            state.slug(),
            join.address,
            join.target
        ),
        payload: json!({"join_id": join.id}),
    };
    writing.event(event.event(now));
}
