//! The assignment of an agent's target.

use windlass_api::agent::AssignmentResponse;

use crate::ask::agent::delivery::delivery_of;
use crate::caller::AgentCaller;
use crate::control::Control;
use crate::refusal::Refusal;

/// The signed assignment of the caller's target, with its document. Not found if the target has none yet.
pub async fn assignment(server: &Control, caller: &AgentCaller) -> Result<AssignmentResponse, Refusal> {
    Ok(delivery_of(server, &caller.agent).await?.response.clone())
}
