//! Approving proposals.

use std::collections::BTreeMap;

use serde_json::json;
use windlass_core::apply::{Gatekeeper, check_review, governing_repository};
use windlass_core::event::{EventKind, NewEvent};
use windlass_core::gate::{Consent, ReviewProblem};
use windlass_core::id::ProposalId;
use windlass_core::proposal::{Approval, CloseReason, Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Approvals, AuditEntry, StoreError};

use crate::ask::proposal::decision::{DecisionError, DecisionResult, record_refusal, single_result};
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::flow::gate::auto_approve::{GrantedConsent, granted_consent};
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::record;

const ACTION: &str = "proposal.approve";

/// A proposal to approve, and the content that the approver reviewed.
#[derive(Clone, Copy, Debug)]
pub struct ReviewedProposal<'r> {
    /// Which proposal.
    pub id: &'r ProposalId,
    /// The digest of the reviewed content; none to approve what the commit declares. Edits and direct changes need it.
    pub digest: Option<&'r str>,
}

/// Approves exactly the content that a proposal would apply now.
pub async fn approve(
    server: &Control,
    who: &Identity,
    reviewed: ReviewedProposal<'_>,
    reason: Option<&str>,
) -> DecisionResult {
    single_result(approve_all(server, who, &[reviewed], reason).await?)
}

/// Approves proposals in one transaction. Each succeeds or fails separately.
pub(crate) async fn approve_all(
    server: &Control,
    who: &Identity,
    reviewed: &[ReviewedProposal<'_>],
    reason: Option<&str>,
) -> Result<Vec<DecisionResult>, StoreError> {
    let mut writing = server.store().write_account(&who.account_id).await?;
    let Some(account) = writing.account(who.account_id.as_str()).await? else { return Ok(Vec::new()) };
    let ids: Vec<&ProposalId> = reviewed.iter().map(|reviewed| reviewed.id).collect();
    let found = writing.proposals_by_id(&who.account_id, &ids).await?;
    let now = now();
    let changed = found.iter().map(|proposal| &proposal.change.key);
    let mut batch = ApprovalBatch {
        who,
        reason,
        gatekeeper: load_gatekeeper(&mut writing, &account, changed, now).await?,
        repositories: writing.repositories(&who.account_id).await?,
        proposals: found.into_iter().map(|proposal| (proposal.id.clone(), proposal)).collect(),
        approvals: writing.approvals_of(&ids).await?,
        given: Vec::new(),
        grants: Vec::new(),
        now,
    };
    let decided = reviewed.iter().map(|reviewed| batch.add(&mut writing, reviewed)).collect();
    batch.save(&mut writing).await?;
    crash_point("decide.before_commit");
    server.commit(writing).await?;
    crash_point("decide.committed");
    server.nudges().apply.notify_one();
    Ok(decided)
}

/// What decides whether an approval counts, and the decisions so far.
struct ApprovalBatch<'h> {
    who: &'h Identity,
    reason: Option<&'h str>,
    gatekeeper: Gatekeeper,
    repositories: Vec<Repository>,
    proposals: BTreeMap<ProposalId, Proposal>,
    approvals: Approvals,
    given: Vec<(ProposalId, Approval)>,
    grants: Vec<(ProposalId, GrantedConsent)>,
    now: Timestamp,
}

impl ApprovalBatch<'_> {
    fn add(&mut self, writing: &mut AccountWriting, reviewed: &ReviewedProposal<'_>) -> DecisionResult {
        let proposal = self.proposals.get(reviewed.id).ok_or(DecisionError::NotFound)?;
        if let Err(error) = self.check(proposal, reviewed) {
            record_refusal(writing, self.who, proposal, ACTION, &error, self.now);
            return Err(error);
        }
        let digest = proposal.content_digest();
        let reason = self.reason.map(str::to_owned);
        let approval = Approval {
            approver: self.who.email.clone(),
            digest,
            reason,
            at: self.now,
            set_id: None,
            lapsed: None,
        };
        self.record(writing, proposal, &approval);
        let given = self.approvals.entry(reviewed.id.clone()).or_default();
        given.push(approval.clone());
        self.given.push((reviewed.id.clone(), approval));
        self.evaluate(writing, reviewed.id);
        Ok(())
    }

    fn repository_of(&self, proposal: &Proposal) -> Option<&Repository> {
        governing_repository(proposal, &self.repositories)
    }

    fn approvals_of(&self, id: &ProposalId) -> &[Approval] {
        self.approvals.get(id).map(Vec::as_slice).unwrap_or_default()
    }

    fn check(&self, proposal: &Proposal, reviewed: &ReviewedProposal<'_>) -> DecisionResult {
        if proposal.status != Status::PendingApproval {
            return Err(DecisionError::Closed(proposal.status));
        }
        let given = self.approvals_of(&proposal.id);
        let repository = self.repository_of(proposal);
        if let Some(why) = self.gatekeeper.why_cannot_approve(proposal, repository, given, &self.who.email) {
            return Err(DecisionError::NotAllowed(why));
        }
        check_review(proposal, reviewed.digest).map_err(|problem| {
            let digest = proposal.content_digest().to_string();
            match problem {
                ReviewProblem::Moved => DecisionError::ContentChanged { digest },
                ReviewProblem::ContentNotNamed => DecisionError::ContentNotNamed { digest },
            }
        })
    }

    fn record(&self, writing: &mut AccountWriting, proposal: &Proposal, approval: &Approval) {
        let detail = json!({"digest": approval.digest, "reason": self.reason,
            "resource": proposal.change.key.to_string()});
        writing.audit(AuditEntry {
            before: proposal.change.base,
            after: proposal.effective_digest(),
            ..record::audit_entry(
                &self.who.actor(),
                ACTION,
                ("proposal", proposal.id.as_str()),
                detail,
                self.now,
            )
        });
    }

    /// Checks whether the approvals so far suffice.
    fn evaluate(&mut self, writing: &mut AccountWriting, id: &ProposalId) {
        let Some(proposal) = self.proposals.get(id) else { return };
        let repository = self.repository_of(proposal);
        let judgement = self.gatekeeper.judge(proposal, repository, self.approvals_of(id), self.now);
        let event = |by: &str, reason: Option<&str>| {
            record::proposal_event(proposal, proposal.run_id.as_ref(), Status::Approved, by, reason, self.now)
        };
        if let Some(grant) = granted_consent(&judgement) {
            writing.event(event(&grant.by, self.reason));
            self.grants.push((id.clone(), grant));
            if let Some(proposal) = self.proposals.get_mut(id) {
                proposal.status = Status::Approved;
            }
        } else if let Consent::Needed { have, need, .. } = judgement.consent {
            let progress = format!("{have} of {need} approvals");
            let event = event(&self.who.email, Some(&progress));
            writing.event(NewEvent { kind: EventKind::ProposalConsented, ..event });
        }
    }

    async fn save(&self, writing: &mut AccountWriting) -> Result<(), StoreError> {
        let given: Vec<_> = self.given.iter().map(|(id, approval)| (id, approval.clone())).collect();
        writing.approvals_add(&given).await?;
        let reason = self.reason.map(CloseReason::own_words);
        let moves: Vec<_> = self
            .grants
            .iter()
            .map(|(id, grant)| (id, grant.approval_move(reason.as_ref(), self.now)))
            .collect();
        writing.proposals_move(&moves).await?;
        Ok(())
    }
}
