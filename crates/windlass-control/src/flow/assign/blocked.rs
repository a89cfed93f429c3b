//! Events about nodes that get no new assignment. They keep the one that they have.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::id::AccountId;
use windlass_core::resource::ResourceKey;
use windlass_store::StoreError;

use crate::clock::now;
use crate::control::Control;

/// The most nodes that an event names.
const MAX_NAMED: usize = 20;

/// Records why nodes get no new assignment: one event for each reason, however many nodes it concerns.
pub(crate) async fn record_blocked(
    server: &Control,
    account_id: &AccountId,
    severity: Severity,
    problems: &[(ResourceKey, &str)],
) -> Result<(), StoreError> {
    let mut nodes_of: BTreeMap<&str, Vec<&ResourceKey>> = BTreeMap::new();
    for (node, reason) in problems {
        nodes_of.entry(reason).or_default().push(node);
    }
    let mut writing = server.store().write_account(account_id).await?;
    writing.keep_state();
    for (reason, nodes) in nodes_of {
        tracing::warn!(
            account_id = account_id.as_str(),
            nodes = nodes.len(),
            reason,
            "assignments are blocked"
        );
        writing.event(blocked_event(severity, reason, &nodes));
    }
    server.commit(writing).await
}

fn blocked_event(severity: Severity, reason: &str, nodes: &[&ResourceKey]) -> NewEvent {
    let message = match nodes {
        [node] => format!("{node} gets no new assignment: {reason}"),
        nodes => format!("{} nodes get no new assignment: {reason}", nodes.len()),
    };
    let named: Vec<&str> = nodes.iter().take(MAX_NAMED).map(|node| node.name.as_str()).collect();
    NewEvent {
        kind: EventKind::AgentAssignmentBlocked,
        severity,
        resource: if let [node] = nodes { Some((*node).clone()) } else { None },
        repository_id: None,
        correlation_id: None,
        source: "windlass".to_owned(),
        message,
        payload: json!({"reason": reason, "nodes": named, "count": nodes.len()}),
        at: now(),
    }
}
