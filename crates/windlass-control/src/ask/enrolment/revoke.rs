//! A person revokes the agent of a node or cluster.

use serde_json::json;
use windlass_api::types::AgentRevoked;
use windlass_core::event::{EventKind, Severity};
use windlass_core::resource::{Kind, ResourceKey};
use windlass_store::Reading;

use crate::ask::enrolment::record::EnrolmentEvent;
use crate::ask::resource::list::find;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;

/// Revokes the agent of a target. Its streams end on every replica, and its requests are refused from now on.
pub async fn revoke_agent(
    server: &Control,
    who: &Identity,
    kind: Kind,
    id_or_name: &str,
) -> Result<AgentRevoked, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let target = target_of(&mut writing, who, kind, id_or_name).await?;
    let Some(agent) = writing.agent_of(&who.account_id, &target).await? else {
        let help = "it is revoked already, or never enrolled";
        return Err(Refusal::conflict("no-agent", format!("{target} has no agent"), help));
    };
    writing.agent_revoke(&target, now).await?;
    writing.keep_state();
    let detail = json!({"target": target.to_string(), "enrolment": agent.enrolment.0});
    let subject = ("agent", agent.id.as_str());
    writing.audit(record::audit_entry(&who.actor(), "agent.revoke", subject, detail, now));
    let event = EnrolmentEvent {
        kind: EventKind::AgentRevoked,
        severity: Severity::Medium,
        target: Some(&target),
        by: &who.email,
        message: format!("{} revoked the agent of {target}", who.email),
        payload: json!({"agent_id": agent.id}),
    };
    writing.event(event.event(now));
    server.commit(writing).await?;
    server.nudges().agents.notify_one();
    let target = format!("{}/{}", target.kind.slug(), target.name);
    Ok(AgentRevoked { agent_id: agent.id.to_string(), target })
}

/// The target with this id or name. A node that was destroyed can still have an agent.
async fn target_of(
    reading: &mut Reading,
    who: &Identity,
    kind: Kind,
    id_or_name: &str,
) -> Result<ResourceKey, Refusal> {
    match find(reading, who, kind, id_or_name).await {
        Ok(resource) => Ok(resource.key),
        Err(missing) => {
            let key = ResourceKey::new(kind, id_or_name);
            let agent = reading.agent_of(&who.account_id, &key).await?;
            agent.map(|agent| agent.target).ok_or(missing)
        }
    }
}
