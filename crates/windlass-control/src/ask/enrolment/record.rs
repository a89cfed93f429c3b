//! Events about agents that several use cases record.

use serde_json::{Value, json};
use windlass_core::agent::Agent;
use windlass_core::enrolment::EnrolmentRefusal;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::id::AgentId;
use windlass_core::resource::ResourceKey;
use windlass_core::time::Timestamp;

use crate::agents::certificate::PeerCertificate;
use crate::clock::now;
use crate::control::Control;
use crate::refusal::Refusal;

/// An event about an agent, or about one that wants to be.
pub(crate) struct EnrolmentEvent<'e> {
    pub(crate) kind: EventKind,
    pub(crate) severity: Severity,
    pub(crate) target: Option<&'e ResourceKey>,
    /// Who caused it.
    pub(crate) by: &'e str,
    pub(crate) message: String,
    pub(crate) payload: Value,
}

impl EnrolmentEvent<'_> {
    /// The event itself.
    pub(crate) fn event(self, now: Timestamp) -> NewEvent {
        NewEvent {
            kind: self.kind,
            severity: self.severity,
            resource: self.target.cloned(),
            repository_id: None,
            correlation_id: None,
            source: self.by.to_owned(),
            message: self.message,
            payload: self.payload,
            at: now,
        }
    }
}

/// The event of a refused enrolment.
pub(crate) fn refused(
    refusal: EnrolmentRefusal,
    target: Option<&ResourceKey>,
    address: &str,
    detail: Value,
    now: Timestamp,
) -> NewEvent {
    let subject = target.map_or_else(|| "an agent".to_owned(), |target| format!("an agent of {target}"));
    let event = EnrolmentEvent {
        kind: EventKind::AgentEnrolmentRefused,
        severity: Severity::Medium,
        target,
        by: "windlass",
        message: format!("{subject} at {address} could not enrol: {refusal}"),
        payload: json!({"reason": refusal.slug(), "address": address, "detail": detail}),
    };
    event.event(now)
}

/// Why a client certificate was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CertificateRefusal {
    /// Another authority issued it: it is forged, or from another installation.
    ForeignAuthority,
    /// The agent was revoked.
    Revoked,
    /// It expired so long ago that it cannot be renewed.
    Expired,
}

impl CertificateRefusal {
    const fn slug(self) -> &'static str {
        match self {
            CertificateRefusal::ForeignAuthority => "foreign_authority",
            CertificateRefusal::Revoked => "revoked",
            CertificateRefusal::Expired => "expired",
        }
    }

    const fn sentence(self) -> &'static str {
        match self {
            CertificateRefusal::ForeignAuthority => "this installation's authority did not issue it",
            CertificateRefusal::Revoked => "the agent was revoked",
            CertificateRefusal::Expired => "it expired too long ago to be renewed",
        }
    }
}

/// Records that a certificate for an agent was refused, at most once in a while for each agent. A certificate that names no known
/// agent is only logged: it belongs to no account.
pub async fn record_refused_certificate(
    server: &Control,
    agent_id: &AgentId,
    why: CertificateRefusal,
    address: &str,
) -> Result<(), Refusal> {
    tracing::warn!(agent = %agent_id, address, reason = why.slug(), "a client certificate was refused");
    let Some(agent) = server.store().read().await?.agent(agent_id).await? else { return Ok(()) };
    let subject = format!("agent:{agent_id}:{}", why.slug());
    if server.rate_limits().refusal_events.take(&subject, std::time::Instant::now()).is_err() {
        return Ok(());
    }
    let now = now();
    let mut writing = server.store().write_account(&agent.account_id).await?;
    writing.keep_state();
    writing.event(certificate_event(&agent, why, address, now));
    Ok(server.commit(writing).await?)
}

fn certificate_event(agent: &Agent, why: CertificateRefusal, address: &str, now: Timestamp) -> NewEvent {
    let severity = match why {
        CertificateRefusal::ForeignAuthority => Severity::High,
        CertificateRefusal::Revoked | CertificateRefusal::Expired => Severity::Low,
    };
    let event = EnrolmentEvent {
        kind: EventKind::AgentCertificateRefused,
        severity,
        target: Some(&agent.target),
        by: "windlass",
        message: format!(
            "a certificate for the agent of {} was refused at {address}: {}",
            agent.target,
            why.sentence()
        ),
        payload: json!({"reason": why.slug(), "agent_id": agent.id, "address": address}),
    };
    event.event(now)
}

/// The agent of a certificate, if it may make requests.
pub async fn current_agent(
    server: &Control,
    certificate: &PeerCertificate,
    address: &str,
) -> Result<Agent, Refusal> {
    let agent = server.agent_reads().agent(server.store(), &certificate.agent_id).await?;
    match agent {
        Some(agent) if agent.revoked_at.is_none() => Ok(agent),
        // Also for an agent that is not stored: there is nothing that its host could do but enrol again.
        _ => {
            let why = CertificateRefusal::Revoked;
            record_refused_certificate(server, &certificate.agent_id, why, address).await?;
            Err(Refusal::agent_revoked().mark_recorded())
        }
    }
}
