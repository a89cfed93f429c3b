//! Ways to resolve the drift of a node: apply everything again, or accept an item as it is. `adopt` writes it into git.

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_api::types::{NodeAcceptBody, NodeDrift, NodeItemBody, NodeReverted};
use windlass_core::drift::{DriftedItem, ItemAcceptance, ItemKey};
use windlass_core::event::{EventKind, NewEvent, Severity};

use crate::ask::drift::read_until;
use crate::ask::node::detail::find_node;
use crate::ask::node::drift::{NodeItems, drift_of};
use crate::ask::node::observe::wake_agents;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::flow::gate::gatekeeper::may_approve;
use crate::record;
use crate::refusal::Refusal;

/// An item of a node that differs; an error if it does not.
pub(crate) fn find_item<'i>(
    found: &'i NodeItems,
    kind: &str,
    name: &str,
) -> Result<&'i DriftedItem, Refusal> {
    let item = found.items.iter().find(|item| item.key.kind == kind && item.key.name == name);
    item.ok_or_else(|| {
        let message = format!("{kind} {name} does not differ");
        Refusal::conflict("no-difference", message, "see `windlass node drift`")
    })
}

/// Restores a node to what is assigned: assigns the same document under the next generation, which the agent applies
/// completely. Everything in the document was approved before, so nothing is proposed.
pub async fn revert_node(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
) -> Result<NodeReverted, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let node = find_node(&mut writing, who, id_or_name).await?;
    let key = &node.resource.key;
    let account = writing.account(who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    if account.halt.is_some() {
        let help = "resume applying first";
        return Err(Refusal::conflict("halted", "applying is halted", help));
    }
    let found = NodeItems::load(&mut writing, who, &node, now).await?;
    if found.items.is_empty() {
        let message = format!("no item of {key} differs");
        return Err(Refusal::conflict("no-difference", message, "see `windlass node drift`"));
    }
    // Only approvers accept drift, so only approvers may undo what was accepted.
    let accepted: Vec<ItemKey> = found
        .items
        .iter()
        .filter(|item| found.acceptance(item).is_some())
        .map(|item| item.key.clone())
        .collect();
    if !accepted.is_empty() && !may_approve(who) {
        let message = format!(
            "drift of {key} is accepted: reverting it needs the permission {}",
            Permission::GitopsApprove
        );
        return Err(Refusal::forbidden(message, "ask an approver to revert it"));
    }
    let generation = writing.assignment_reissue(key, now).await?.ok_or_else(|| {
        Refusal::conflict("not-assigned", format!("nothing is assigned to {key}"), "wait until something is")
    })?;
    for item in &accepted {
        writing.node_drift_unaccept(key, item).await?;
    }
    let items: Vec<String> = found.items.iter().take(20).map(|item| item.key.to_string()).collect();
    let detail = json!({"generation": generation.0, "items": items, "of": found.items.len()});
    writing.audit(record::audit_entry(&who.actor(), "node.drift_revert", ("node", &key.name), detail, now));
    writing.keep_state();
    server.commit(writing).await?;
    wake_agents(server);
    let message =
        format!("the agent of {key} applies everything that is assigned to it again, as {generation}");
    Ok(NodeReverted { generation: generation.0, message })
}

/// Accepts the drift of an item, until a time or until it changes again.
pub async fn accept_item(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &NodeAcceptBody,
) -> Result<NodeDrift, Refusal> {
    let now = now();
    let reason: String = body.reason.trim().chars().take(500).collect();
    if reason.is_empty() {
        let message = "accepting drift needs a reason";
        return Err(Refusal::unprocessable("missing-key", message, "give a reason"));
    }
    let until = read_until(body.until.as_deref(), now)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let node = find_node(&mut writing, who, id_or_name).await?;
    let key = &node.resource.key;
    let found = NodeItems::load(&mut writing, who, &node, now).await?;
    let item = find_item(&found, &body.kind, &body.name)?;
    let acceptance = ItemAcceptance {
        item: item.key.clone(),
        digest: item.digest(),
        until,
        reason: reason.clone(),
        by: who.email.clone(),
        at: now,
    };
    writing.node_drift_accept(key, &acceptance).await?;
    let detail = json!({"item": item.key.to_string(), "reason": reason, "until": until});
    writing.audit(record::audit_entry(
        &who.actor(),
        "node.drift_accept",
        ("node", &key.name),
        detail.clone(),
        now,
    ));
    writing.event(NewEvent {
        kind: EventKind::DriftAccepted,
        severity: Severity::Medium,
        resource: Some(key.clone()),
        repository_id: None,
        correlation_id: None,
        source: who.email.clone(),
        message: format!("{} accepted the drift of {} on {key}: {reason}", who.email, item.key),
        payload: detail,
        at: now,
    });
    writing.keep_state();
    let node = find_node(&mut writing, who, id_or_name).await?;
    let drift = drift_of(&mut writing, who, &node).await?;
    server.commit(writing).await?;
    Ok(drift)
}

/// Withdraws the acceptance of an item.
pub async fn unaccept_item(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &NodeItemBody,
) -> Result<NodeDrift, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let node = find_node(&mut writing, who, id_or_name).await?;
    let key = &node.resource.key;
    let item = ItemKey { kind: body.kind.clone(), name: body.name.clone() };
    if !writing.node_drift_unaccept(key, &item).await? {
        return Err(Refusal::not_found());
    }
    let detail = json!({"item": item.to_string()});
    writing.audit(record::audit_entry(&who.actor(), "node.drift_unaccept", ("node", &key.name), detail, now));
    writing.keep_state();
    let node = find_node(&mut writing, who, id_or_name).await?;
    let drift = drift_of(&mut writing, who, &node).await?;
    server.commit(writing).await?;
    Ok(drift)
}
