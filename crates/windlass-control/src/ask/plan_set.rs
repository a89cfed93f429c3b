//! Approving a plan set with one approval: the whole plan or a group of identical changes, identified by the set's digest.
//!
//! The approval is stored as one row. It also becomes an approval of the proposal of each member: now if the proposal is
//! open, otherwise when it opens. The gate decides whether it counts there, as for any other approval.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use windlass_api::types::ApprovedSet;
use windlass_core::apply::Gatekeeper;
use windlass_core::digest::Digest;
use windlass_core::event::{EventKind, Severity};
use windlass_core::gate::Consent;
use windlass_core::id::{ProposalId, RunId};
use windlass_core::plan::{ChangeSet, members_of};
use windlass_core::proposal::{Approval, Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, ApprovalSet, AuditEntry, Outcome, PlanRecord, StoreError, new_id};

use crate::ask::proposal::decision::DecisionError;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::crash::crash_point;
use crate::flow::gate::auto_approve::{approve_granted, granted_consent};
use crate::flow::gate::gatekeeper::load_gatekeeper;
use crate::flow::gate::set_approvals::approval_from_set;
use crate::record;

const ACTION: &str = "plan.approve";

/// The most reasons that a response lists. The others are omitted.
const MAX_REASONS: usize = 20;

/// Whether the caller confirmed the destroys of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DestroyConfirmation {
    /// The caller confirmed them.
    Confirmed,
    /// The caller did not confirm them.
    NotConfirmed,
}

/// A set that someone reviewed.
#[derive(Clone, Copy, Debug)]
pub struct ReviewedSet<'r> {
    /// The digest of the set that was reviewed.
    pub digest: &'r str,
    /// Whether the destroys are confirmed.
    pub destroys: DestroyConfirmation,
    /// The reason, if the caller gave one.
    pub reason: Option<&'r str>,
}

/// Approves a set of a run's plan, if that is still the repository's newest plan.
pub async fn approve_set(
    server: &Control,
    who: &Identity,
    run_id: &RunId,
    review: ReviewedSet<'_>,
) -> Result<ApprovedSet, DecisionError> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let run = writing.run_head(&who.account_id, run_id).await?.ok_or(DecisionError::NotFound)?;
    let repository = writing
        .repository(&who.account_id, run.repository_id.as_str())
        .await?
        .ok_or(DecisionError::NotFound)?;
    let refuse = |error| SetRefusal { who, run_id, review, error };
    let (plan, set) = match find_set(&mut writing, &run, &repository, review).await? {
        Ok(found) => found,
        Err(error) => return refuse(error).record(server, writing, now).await,
    };
    let members = members_of(set.scope, &writing.plan_steps(&plan.id).await?, &plan.sets);
    let approval = new_approval(who, &plan, &set, review, now);
    let covered = match CoveredProposals::load(&mut writing, &repository, &members, &approval).await? {
        Ok(covered) => covered,
        Err(error) => return refuse(error).record(server, writing, now).await,
    };
    writing.approval_set_add(&approval).await?;
    writing.approvals_add(&covered.approvals()).await?;
    let answer = covered.grant(&mut writing, &set, &run, now).await?;
    record(&mut writing, who, &run, &approval, now);
    crash_point("set.before_commit");
    server.commit(writing).await?;
    crash_point("set.committed");
    server.nudges().apply.notify_one();
    Ok(answer)
}

/// The plan of the run and the set of it that was reviewed.
async fn find_set(
    writing: &mut AccountWriting,
    run: &Run,
    repository: &Repository,
    review: ReviewedSet<'_>,
) -> Result<Result<(PlanRecord, ChangeSet), DecisionError>, StoreError> {
    // After the repository's source changed, its earlier plans can no longer be approved.
    let newest = match repository.good_run_id.as_ref().filter(|_| repository.good_commit.is_some()) {
        Some(good) => writing.plan_of_run(&run.account_id, good).await?,
        None => None,
    };
    let moved = |newest: Option<&PlanRecord>| {
        let whole = newest.and_then(|plan| plan.sets.first());
        Err(DecisionError::SetChanged { digest: whole.map(|set| set.digest.to_string()) })
    };
    let Some(plan) = newest.clone().filter(|plan| Some(&plan.id) == run.plan_id.as_ref()) else {
        return Ok(moved(newest.as_ref()));
    };
    let wanted = Digest::parse(review.digest);
    let Some(set) = plan.sets.iter().find(|set| Some(set.digest) == wanted).cloned() else {
        return Ok(moved(Some(&plan)));
    };
    if set.destroys > 0 && review.destroys == DestroyConfirmation::NotConfirmed {
        return Ok(Err(DecisionError::DestroysNotConfirmed(set.destroys)));
    }
    Ok(Ok((plan, set)))
}

fn new_approval(
    who: &Identity,
    plan: &PlanRecord,
    set: &ChangeSet,
    review: ReviewedSet<'_>,
    now: Timestamp,
) -> ApprovalSet {
    ApprovalSet {
        id: new_id(),
        account_id: plan.account_id.clone(),
        repository_id: plan.repository_id.clone(),
        plan_id: plan.id.clone(),
        scope: set.scope,
        digest: set.digest,
        members: set.count,
        destroys: set.destroys,
        approver: who.email.clone(),
        reason: review.reason.map(str::to_owned),
        at: now,
        lapsed: None,
    }
}

/// The open proposals of a set, with the approvals each has, the new one included.
struct CoveredProposals {
    gatekeeper: Gatekeeper,
    repository: Repository,
    pending: Vec<(Proposal, Vec<Approval>)>,
    not_counted: Vec<String>,
}

impl CoveredProposals {
    /// Fails if the person can approve none of the open proposals.
    async fn load(
        writing: &mut AccountWriting,
        repository: &Repository,
        members: &BTreeSet<Digest>,
        set: &ApprovalSet,
    ) -> Result<Result<CoveredProposals, DecisionError>, StoreError> {
        let Some(account) = writing.account(set.account_id.as_str()).await? else {
            return Ok(Err(DecisionError::NotFound));
        };
        let open = writing.proposals_open_of(&repository.id).await?;
        let ids: Vec<&ProposalId> = open
            .iter()
            .filter(|proposal| proposal.status == Status::PendingApproval)
            .map(|proposal| &proposal.id)
            .collect();
        let mut pending = writing.proposals_by_id(&account.id, &ids).await?;
        pending.retain(|proposal| members.contains(&proposal.content_digest()));
        let mut approvals = writing.approvals_of(&ids).await?;
        let changed = pending.iter().map(|proposal| &proposal.change.key);
        let gatekeeper = load_gatekeeper(writing, &account, changed, set.at).await?;
        let (mut covered, mut not_counted) = (Vec::new(), Vec::new());
        for proposal in pending {
            let mut given = approvals.remove(&proposal.id).unwrap_or_default();
            let content = proposal.content_digest();
            let is_given =
                |approval: &Approval| approval.approver == set.approver && approval.digest == content;
            if !given.iter().any(is_given)
                && let Some(why) =
                    gatekeeper.why_cannot_approve(&proposal, Some(repository), &given, &set.approver)
            {
                not_counted.push((proposal.change.key.to_string(), why));
            }
            given.push(approval_from_set(set, content));
            covered.push((proposal, given));
        }
        if let Some((_, why)) = not_counted.first().filter(|_| not_counted.len() == covered.len()) {
            return Ok(Err(DecisionError::NotAllowed(why.clone())));
        }
        let not_counted = not_counted.into_iter().take(MAX_REASONS);
        Ok(Ok(CoveredProposals {
            gatekeeper,
            repository: repository.clone(),
            pending: covered,
            not_counted: not_counted.map(|(key, why)| format!("{key}: {why}")).collect(),
        }))
    }

    /// The new approval of each proposal.
    fn approvals(&self) -> Vec<(&ProposalId, Approval)> {
        self.pending
            .iter()
            .filter_map(|(proposal, given)| Some((&proposal.id, given.last()?.clone())))
            .collect()
    }

    /// Approves the proposals that need no more approvals.
    async fn grant(
        self,
        writing: &mut AccountWriting,
        set: &ChangeSet,
        run: &Run,
        now: Timestamp,
    ) -> Result<ApprovedSet, StoreError> {
        let mut waiting = 0;
        let mut grants = Vec::new();
        for (proposal, given) in &self.pending {
            let judgement = self.gatekeeper.judge(proposal, Some(&self.repository), given, now);
            waiting += usize::from(matches!(judgement.consent, Consent::Needed { .. }));
            grants.extend(granted_consent(&judgement).map(|grant| (proposal, grant)));
        }
        approve_granted(writing, &grants, Some(&run.id), now).await?;
        Ok(ApprovedSet {
            digest: set.digest.to_string(),
            scope: set.scope.kind(),
            count: set.count,
            destroys: set.destroys,
            approved: grants.len(),
            waiting,
            not_open: set.count.saturating_sub(self.pending.len()),
            not_counted: self.not_counted.clone(),
        })
    }
}

fn record(writing: &mut AccountWriting, who: &Identity, run: &Run, set: &ApprovalSet, now: Timestamp) {
    let detail = json!({
        "digest": set.digest, "scope": set.scope.kind(), "changes": set.members, "destroys": set.destroys,
        "reason": set.reason, "plan_id": set.plan_id, "repository": run.repository_name,
    });
    let message =
        format!("{} approved {} changes of {} together", who.email, set.members, run.repository_name);
    let kind = EventKind::PlanApproved;
    writing.event(record::run_event(kind, Severity::Low, run, message, detail.clone(), now));
    writing.audit(record::audit_entry(&who.actor(), ACTION, ("run", run.id.as_str()), detail, now));
}

/// A failed approval, to be recorded in the audit log.
struct SetRefusal<'r> {
    who: &'r Identity,
    run_id: &'r RunId,
    review: ReviewedSet<'r>,
    error: DecisionError,
}

impl SetRefusal<'_> {
    async fn record(
        self,
        server: &Control,
        mut writing: AccountWriting,
        now: Timestamp,
    ) -> Result<ApprovedSet, DecisionError> {
        let reason = match &self.error {
            DecisionError::SetChanged { .. } => "the plan has no such set".to_owned(),
            DecisionError::DestroysNotConfirmed(count) => format!("{count} destroys were not confirmed"),
            DecisionError::NotAllowed(why) => why.clone(),
            _ => "refused".to_owned(),
        };
        let detail: Value = json!({"digest": self.review.digest, "reason": reason});
        let entry =
            record::audit_entry(&self.who.actor(), ACTION, ("run", self.run_id.as_str()), detail, now);
        writing.audit(AuditEntry { outcome: Outcome::Refused, ..entry });
        server.commit(writing).await?;
        Err(self.error)
    }
}
