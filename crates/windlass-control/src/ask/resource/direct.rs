//! Direct changes of resources, without a repository: the same gate checks them as changes from git.
//!
//! If the author may approve and their own approval suffices, Windlass applies the change immediately. Every other direct
//! change becomes a proposal of its author; the apply loop applies it once it has the approvals that the policy requires, a
//! window is open and the account is not halted. A blocking rule rejects it. No rule and no `auto_apply` ever approves one.

use std::time::Duration;

use serde_json::json;
use windlass_core::diff::{Action, Change};
use windlass_core::gate::{Consent, Contributor, ContributorRole, Judgement};
use windlass_core::id::{AccountId, ProposalId, RepositoryId};
use windlass_core::proposal::{Approval, BlockedBy, CloseReason, Proposal, Status};
use windlass_core::resource::ResourceKey;
use windlass_core::target_assignment::CoveringApproval;
use windlass_core::time::Timestamp;
use windlass_store::{
    AccountWriting, AuditEntry, ProposalFilter, ProposalSource, ResourceToDestroy, StoreError, new_id,
};

use crate::caller::Identity;
use crate::clock::now;
use crate::flow::apply::module_versions::{AppliedChange, store_versions};
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::follow::{Promotion, propose_followers};
use crate::flow::gate::auto_approve::granted_consent;
use crate::flow::gate::gatekeeper::{load_gatekeeper, may_approve};
use crate::record::{self, ResourceChange};
use crate::refusal::Refusal;

/// The reason of a direct change whose author gives none.
const DEFAULT_REASON: &str = "direct change";

/// The longest reason that is stored; the rest is cut.
const MAX_REASON_CHARS: usize = 500;

/// A request to change a resource directly.
pub(crate) struct DirectChange<'d> {
    pub(crate) who: &'d Identity,
    pub(crate) change: Change,
    /// The repository that owns the resource, and still does after the change.
    pub(crate) owner_id: Option<RepositoryId>,
    pub(crate) reason: Option<&'d str>,
    /// How long it can be approved before it expires.
    pub(crate) lifetime: Duration,
}

/// The outcome of a direct change.
pub(crate) enum DirectOutcome {
    /// It was applied, and runs of repositories that follow it may be queued.
    Applied,
    /// It is this proposal now.
    AwaitingApproval(ProposalId),
}

/// Applies a direct change, or opens a proposal for it.
pub(crate) async fn change_directly(
    writing: &mut AccountWriting,
    direct: DirectChange<'_>,
) -> Result<DirectOutcome, Refusal> {
    let now = now();
    let account = writing.account(direct.who.account_id.as_str()).await?.ok_or_else(Refusal::not_found)?;
    let mut proposal = new_proposal(writing, &direct, now).await?;
    let gatekeeper = load_gatekeeper(writing, &account, [&proposal.change.key], now).await?;
    let owner = match &direct.owner_id {
        Some(id) => writing.repository(&account.id, id.as_str()).await?,
        None => None,
    };
    let email = &direct.who.email;
    let why_not = gatekeeper.why_cannot_approve(&proposal, owner.as_ref(), &[], email);
    let approvals: Vec<Approval> = match may_approve(direct.who) && why_not.is_none() {
        true => vec![own_approval(&proposal, email, now)],
        false => Vec::new(),
    };
    let judgement = gatekeeper.judge(&proposal, owner.as_ref(), &approvals, now);
    if let Consent::Refused { reason } = &judgement.consent {
        return Err(Refusal::conflict("blocked", reason.to_string(), "change the policy to allow it"));
    }
    let open = open_direct_change(writing, &account.id, &direct.change.key).await?;
    if judgement.may_apply() {
        supersede(writing, open.as_ref(), now).await?;
        apply_now(writing, &direct, &judgement, now).await?;
        follow(writing, &direct, now).await?;
        return Ok(DirectOutcome::Applied);
    }
    if let Some(open) = &open {
        if open.content_digest() == proposal.content_digest() {
            return Ok(DirectOutcome::AwaitingApproval(open.id.clone()));
        }
        check_replaceable(open, email)?;
    }
    supersede(writing, open.as_ref(), now).await?;
    if let Some(grant) = granted_consent(&judgement) {
        proposal.status = Status::Approved;
        proposal.decided_by = Some(grant.by);
        proposal.decided_at = Some(now);
        proposal.blocked_by = judgement.hold.iter().cloned().map(BlockedBy::from).collect();
    }
    save(writing, direct.who, &proposal, &approvals, now).await?;
    Ok(DirectOutcome::AwaitingApproval(proposal.id))
}

fn reason_of(direct: &DirectChange<'_>) -> String {
    let given: String = direct.reason.unwrap_or_default().trim().chars().take(MAX_REASON_CHARS).collect();
    if given.is_empty() { DEFAULT_REASON.to_owned() } else { given }
}

async fn new_proposal(
    writing: &mut AccountWriting,
    direct: &DirectChange<'_>,
    now: Timestamp,
) -> Result<Proposal, StoreError> {
    let file = match &direct.owner_id {
        Some(owner) => writing.desired_file(owner, &direct.change.key).await?,
        None => None,
    };
    let key = &direct.change.key;
    let declared_in = writing
        .resource_files(&direct.who.account_id, std::slice::from_ref(key))
        .await?
        .remove(key.kind, &key.name);
    Ok(Proposal {
        id: new_id(),
        account_id: direct.who.account_id.clone(),
        repository_id: None,
        repository_name: String::new(),
        run_id: None,
        owner_id: direct.owner_id.clone(),
        direct_reason: Some(reason_of(direct)),
        change: direct.change.clone(),
        position: 0,
        edit: None,
        commit_sha: String::new(),
        author: Some(direct.who.email.clone()),
        contributors: Contributor::new(ContributorRole::Writer, &direct.who.email).into_iter().collect(),
        declared_at: file.map(|file| (file, 0)),
        previous_file: declared_in,
        status: Status::PendingApproval,
        blocked_by: Vec::new(),
        waits_for: Vec::new(),
        reason: None,
        decided_by: None,
        until_change: false,
        opened_at: now,
        expires_at: now.plus(direct.lifetime),
        decided_at: None,
        closed_at: None,
        version: 1,
    })
}

/// The author's own approval, if they may approve the change.
fn own_approval(proposal: &Proposal, email: &str, now: Timestamp) -> Approval {
    Approval {
        approver: email.to_owned(),
        digest: proposal.content_digest(),
        reason: proposal.direct_reason.clone(),
        at: now,
        set_id: None,
        lapsed: None,
    }
}

async fn open_direct_change(
    writing: &mut AccountWriting,
    account_id: &AccountId,
    key: &ResourceKey,
) -> Result<Option<Proposal>, StoreError> {
    let filter = ProposalFilter {
        statuses: vec![Status::PendingApproval, Status::Approved],
        source: Some(ProposalSource::Direct),
        kind: Some(key.kind),
        name: Some(key.name.clone()),
        ..ProposalFilter::default()
    };
    Ok(writing.proposals(account_id, &filter, None, 1).await?.into_iter().next())
}

/// Rejects replacing an open direct change of another author.
fn check_replaceable(open: &Proposal, email: &str) -> Result<(), Refusal> {
    if open.author.as_deref() == Some(email) {
        return Ok(());
    }
    let by = open.author.as_deref().unwrap_or("someone");
    let message = format!("a direct change of {} by {by} is already pending", open.change.key);
    Err(Refusal::conflict(
        "change-waits",
        message,
        format!("approve or reject the proposal {} first", open.id),
    ))
}

async fn supersede(
    writing: &mut AccountWriting,
    open: Option<&Proposal>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(open) = open else { return Ok(()) };
    let reason = CloseReason::ReplacedByDirectChange;
    close_proposals(writing, &[ProposalClosing::new(open, Status::Superseded, Some(&reason))], None, now)
        .await
}

/// Applies the change now, with its event and its audit entry.
async fn apply_now(
    writing: &mut AccountWriting,
    direct: &DirectChange<'_>,
    judgement: &Judgement,
    now: Timestamp,
) -> Result<(), StoreError> {
    let DirectChange { who, change, owner_id, .. } = direct;
    match &change.after {
        Some(spec) => writing.resource_put(&change.key, spec, owner_id.as_ref(), &who.email, now).await?,
        None => {
            let ended = ResourceToDestroy { key: &change.key, by: &who.email };
            writing.resource_remove(ended, now).await?;
        }
    }
    let actor = who.actor();
    let resource_change = ResourceChange {
        change,
        repository_id: owner_id.clone(),
        run_id: None,
        proposal_id: None,
        actor: &actor,
        audit_action: match change.action() {
            Action::Create => "resource.create",
            Action::Update => "resource.update",
            Action::Destroy => "resource.delete",
        },
        now,
    };
    let (event, mut entry) = resource_change.event_and_entry();
    entry.detail["reason"] = json!(reason_of(direct));
    entry.detail["rule"] = json!(judgement.rule);
    writing.event(event);
    writing.audit(entry);
    Ok(())
}

/// Stores the versions that a module makes, and proposes what follows a version.
async fn follow(
    writing: &mut AccountWriting,
    direct: &DirectChange<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let approval = CoveringApproval::DirectChange { person: direct.who.email.clone(), at: now };
    let applied = AppliedChange {
        change: &direct.change,
        by: &direct.who.email,
        approval: &approval,
        actor: direct.who.actor(),
        run_id: None,
        proposal_id: None,
    };
    let versions = store_versions(writing, &[applied], now).await?;
    let promotion = Promotion { by: Some(&direct.who.email), lifetime: direct.lifetime, now };
    propose_followers(writing, versions, &promotion).await?;
    Ok(())
}

/// Stores the proposal with its approvals, events and audit entry.
async fn save(
    writing: &mut AccountWriting,
    who: &Identity,
    proposal: &Proposal,
    approvals: &[Approval],
    now: Timestamp,
) -> Result<(), StoreError> {
    writing.proposals_add(std::slice::from_ref(proposal)).await?;
    let given: Vec<_> = approvals.iter().map(|approval| (&proposal.id, approval.clone())).collect();
    writing.approvals_add(&given).await?;
    let opened = record::proposal_event(proposal, None, Status::PendingApproval, &who.email, None, now);
    writing.event(opened);
    writing.event(match &proposal.decided_by {
        Some(by) => record::proposal_event(proposal, None, Status::Approved, by, None, now),
        None => record::direct_approval_requested(proposal, now),
    });
    let detail = json!({"resource": proposal.change.key.to_string(), "reason": proposal.direct_reason,
        "digest": proposal.content_digest(), "approved": !approvals.is_empty()});
    writing.audit(AuditEntry {
        before: proposal.change.base,
        after: proposal.change.desired,
        ..record::audit_entry(&who.actor(), "proposal.open", ("proposal", proposal.id.as_str()), detail, now)
    });
    Ok(())
}
