//! Approves proposals that need no approval, or no further approval.

use serde_json::json;
use windlass_core::event::{NewEvent, Severity};
use windlass_core::gate::{Consent, GrantedBy, Judgement, Notify};
use windlass_core::id::{ProposalId, RunId};
use windlass_core::proposal::{CloseReason, Proposal, Status};
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, ProposalMove, StoreError};

use crate::record;

/// A consent, and the severity of its event.
pub(crate) struct GrantedConsent {
    pub(crate) by: String,
    pub(crate) severity: Severity,
}

impl GrantedConsent {
    /// The move of a proposal to approved.
    pub(crate) fn approval_move<'g>(
        &'g self,
        reason: Option<&'g CloseReason>,
        at: Timestamp,
    ) -> ProposalMove<'g> {
        ProposalMove {
            from: Status::PendingApproval,
            to: Status::Approved,
            reason,
            decided_by: Some(&self.by),
            until_change: false,
            at,
        }
    }
}

/// Who or what consented, if the gate granted the change.
pub(crate) fn granted_consent(judgement: &Judgement) -> Option<GrantedConsent> {
    let Consent::Granted { by } = &judgement.consent else { return None };
    let rule = judgement.rule.as_deref().unwrap_or("default");
    Some(match by {
        GrantedBy::Policy { notify: Notify::Yes } => {
            GrantedConsent { by: format!("policy {rule}"), severity: Severity::Medium }
        }
        GrantedBy::Policy { notify: Notify::No } => {
            GrantedConsent { by: format!("policy {rule}"), severity: Severity::Low }
        }
        GrantedBy::AutoApply => GrantedConsent { by: "auto_apply".to_owned(), severity: Severity::Low },
        GrantedBy::People(people) => GrantedConsent { by: people.join(", "), severity: Severity::Low },
    })
}

/// Approves pending proposals that were loaded in the same transaction. The events refer to the run `run_id`, or,
/// without one, to the run that opened each proposal.
pub(crate) async fn approve_granted(
    writing: &mut AccountWriting,
    grants: &[(&Proposal, GrantedConsent)],
    run_id: Option<&RunId>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let moves: Vec<(&ProposalId, ProposalMove<'_>)> =
        grants.iter().map(|(proposal, grant)| (&proposal.id, grant.approval_move(None, now))).collect();
    writing.proposals_move(&moves).await?;
    for (proposal, grant) in grants {
        record_auto_approval(writing, proposal, run_id.or(proposal.run_id.as_ref()), grant, now);
    }
    Ok(())
}

/// Adds the event and the audit entry of such an approval.
pub(crate) fn record_auto_approval(
    writing: &mut AccountWriting,
    proposal: &Proposal,
    run_id: Option<&RunId>,
    grant: &GrantedConsent,
    now: Timestamp,
) {
    let event = record::proposal_event(proposal, run_id, Status::Approved, &grant.by, None, now);
    writing.event(NewEvent { severity: grant.severity, ..event });
    let detail = json!({"by": grant.by, "digest": proposal.content_digest(),
        "resource": proposal.change.key.to_string()});
    let target = ("proposal", proposal.id.as_str());
    writing.audit(record::audit_entry(&Actor::windlass(), "proposal.approve", target, detail, now));
}
