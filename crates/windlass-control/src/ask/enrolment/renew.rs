//! An agent renews its certificate: for itself, and for nobody else, whatever its request says.

use windlass_api::agent::{RenewRequest, RenewResponse};
use windlass_store::AgentCertificate;

use crate::ask::enrolment::enrol::{requested_key, shortened};
use crate::caller::AgentCaller;
use crate::clock::now;
use crate::control::Control;
use crate::metrics::{self, MetricOutcome};
use crate::refusal::Refusal;

/// Issues a new certificate to the agent that asks.
pub async fn renew(
    server: &Control,
    caller: &AgentCaller,
    request: &RenewRequest,
) -> Result<RenewResponse, Refusal> {
    let renewed = try_renew(server, caller, request).await;
    metrics::agent_renewal(MetricOutcome::of(&renewed));
    renewed
}

async fn try_renew(
    server: &Control,
    caller: &AgentCaller,
    request: &RenewRequest,
) -> Result<RenewResponse, Refusal> {
    let key = requested_key(&request.certificate_request)?;
    let now = now();
    let certificate = server.authority().issue(&caller.agent.id, &key, now)?;
    let stored = AgentCertificate {
        agent_version: &shortened(&request.agent_version),
        serial: &certificate.serial,
        expires_at: certificate.expires_at,
    };
    // Outside the transactions of the account: ten thousand renewals a day do not queue behind what people decide.
    let mut writing = server.store().write().await?;
    if !writing.agent_certified(&caller.agent.id, stored).await? {
        return Err(Refusal::agent_revoked());
    }
    writing.commit().await?;
    Ok(RenewResponse { certificate: certificate.issued, trust: server.authority().trust(now) })
}
