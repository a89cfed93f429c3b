//! Asks the agent of a node to look now.

use serde_json::json;
use windlass_api::types::ObserveRequested;
use windlass_core::report::ContactState;

use crate::ask::node::detail::find_node;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::record;
use crate::refusal::Refusal;

/// Asks the agent of a node to look now, and to report completely. The request is stored: an agent that is offline sends a
/// complete report when it is back.
pub async fn request_observe(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
) -> Result<ObserveRequested, Refusal> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let node = find_node(&mut writing, who, id_or_name).await?;
    let key = &node.resource.key;
    if node.agent.is_none() {
        let help = format!("run `windlass node enroll {}`", key.name);
        return Err(Refusal::conflict("no-agent", format!("no agent is enrolled for {key}"), help));
    }
    writing.observe_request(key, now).await?;
    writing.audit(record::audit_entry(&who.actor(), "node.observe", ("node", &key.name), json!({}), now));
    writing.keep_state();
    server.commit(writing).await?;
    wake_agents(server);
    let message = match node.status.report.contact {
        ContactState::Current => format!("asked the agent of {key} to look now"),
        _ => format!("the agent of {key} is out of contact; it looks when it is back"),
    };
    Ok(ObserveRequested { requested_at: now.to_string(), message })
}

/// Tells connected agents that there is news: the only place that does after a request about one node.
pub(crate) fn wake_agents(server: &Control) {
    server.nudges().agents.notify_one();
}
