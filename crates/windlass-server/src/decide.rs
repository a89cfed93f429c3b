//! Decisions people take about proposals: approve, reject, edit. The same for the API, the web app and MCP.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_core::diagnostic::Diagnostic;
use windlass_core::diff::Action;
use windlass_core::gate::Consent;
use windlass_core::proposal::Status;
use windlass_core::resource::Spec;
use windlass_core::shape::Defaults;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Approval, AuditEntry, Edit, Moved, Outcome, Proposal, StoreError};

use crate::apply;
use crate::auth::Identity;
use crate::clock::now;
use crate::crash::crash_point;
use crate::gatekeeper::Gatekeeper;
use crate::offer::granted;
use crate::payload::{put_back_hidden, spec_value};
use crate::server::Server;
use crate::tell;

/// Why a decision was not taken.
#[derive(Debug)]
pub(crate) enum DecisionError {
    /// There is no such proposal.
    NotFound,
    /// It is not open for this decision any more.
    Closed(Status),
    /// It is not what the caller reviewed.
    Moved {
        /// What it is now.
        digest: String,
    },
    /// It was changed since the version the caller named.
    Outdated,
    /// The policy, or its author, does not allow it.
    NotAllowed(String),
    /// What it was edited to is not sound.
    Unsound(Vec<Diagnostic>),
    /// The request makes no sense.
    Senseless(&'static str),
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for DecisionError {
    fn from(error: StoreError) -> DecisionError {
        DecisionError::Store(error)
    }
}

/// Gives someone's consent to exactly what a proposal would apply now.
pub(crate) async fn approve(
    server: &Server,
    who: &Identity,
    id: &str,
    reviewed: Option<&str>,
    reason: Option<&str>,
) -> Result<(), DecisionError> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let proposal = open_proposal(&mut writing, who, id).await?;
    let digest = proposal.content_digest().to_string();
    if proposal.status != Status::PendingApproval {
        return refuse(
            server,
            writing,
            who,
            &proposal,
            "proposal.approve",
            DecisionError::Closed(proposal.status),
            now,
        )
        .await;
    }
    if reviewed.is_some_and(|reviewed| reviewed != digest) {
        let error = DecisionError::Moved { digest };
        return refuse(server, writing, who, &proposal, "proposal.approve", error, now).await;
    }
    let account = writing.account(&who.account_id).await?.ok_or(DecisionError::NotFound)?;
    let repository = writing.repository(&who.account_id, &proposal.repository_id).await?;
    let gatekeeper = Gatekeeper::of(&account);
    let mut approvals = writing.approvals(id).await?;
    if let Some(why) = gatekeeper.why_not(&proposal, repository.as_ref(), &approvals, &who.email) {
        let error = DecisionError::NotAllowed(why);
        return refuse(server, writing, who, &proposal, "proposal.approve", error, now).await;
    }
    let approval = Approval {
        approver: who.email.clone(),
        digest: digest.clone(),
        reason: reason.map(str::to_owned),
        at: now,
    };
    writing.approval_add(id, &approval).await?;
    approvals.push(approval);
    let judgement = gatekeeper.judge(&proposal, repository.as_ref(), &approvals, now);
    let detail = json!({"digest": digest, "reason": reason, "resource": proposal.change.key.to_string()});
    writing.audit(AuditEntry {
        before: proposal.change.base,
        after: proposal.effective_digest(),
        ..tell::entry(&who.actor(), "proposal.approve", ("proposal", id), detail, now)
    });
    if let Some(grant) = granted(&judgement) {
        let moved = Moved {
            from: Status::PendingApproval,
            to: Status::Approved,
            reason,
            decided_by: Some(&grant.by),
            until_change: false,
            at: now,
        };
        writing.proposal_move(id, &moved).await?;
        let event =
            tell::proposal_event(&proposal, &proposal.run_id, Status::Approved, &grant.by, reason, now);
        writing.event(event);
    } else if let Consent::Needed { have, need, .. } = judgement.consent {
        let told = format!("{have} of {need} approvals");
        let mut event =
            tell::proposal_event(&proposal, &proposal.run_id, Status::Approved, &who.email, Some(&told), now);
        event.kind = "gitops.proposal_consented";
        writing.event(event);
    }
    crash_point("decide.before_commit");
    server.commit(writing).await?;
    crash_point("decide.committed");
    server.nudges().apply.notify_one();
    Ok(())
}

/// Refuses a proposal.
pub(crate) async fn reject(
    server: &Server,
    who: &Identity,
    id: &str,
    reason: Option<&str>,
    until_change: bool,
) -> Result<(), DecisionError> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let proposal = open_proposal(&mut writing, who, id).await?;
    let moved = Moved {
        from: proposal.status,
        to: Status::Rejected,
        reason,
        decided_by: Some(&who.email),
        until_change,
        at: now,
    };
    if !Status::Rejected.may_follow(proposal.status) || !writing.proposal_move(id, &moved).await? {
        let error = DecisionError::Closed(proposal.status);
        return refuse(server, writing, who, &proposal, "proposal.reject", error, now).await;
    }
    writing.event(tell::proposal_event(
        &proposal,
        &proposal.run_id,
        Status::Rejected,
        &who.email,
        reason,
        now,
    ));
    let detail = json!({"digest": proposal.content_digest(), "reason": reason, "until_change": until_change,
        "resource": proposal.change.key.to_string()});
    writing.audit(tell::entry(&who.actor(), "proposal.reject", ("proposal", id), detail, now));
    apply::settle_runs_of(&mut writing, id, None, now).await?;
    server.commit(writing).await?;
    Ok(())
}

/// Changes what a pending proposal would apply; null takes that back. Approvals given before no longer count.
pub(crate) async fn edit(
    server: &Server,
    who: &Identity,
    id: &str,
    payload: &Value,
    version: Option<i64>,
) -> Result<(), DecisionError> {
    let now = now();
    let mut writing = server.store().write_account(&who.account_id).await?;
    let proposal = open_proposal(&mut writing, who, id).await?;
    if proposal.status != Status::PendingApproval {
        let error = DecisionError::Closed(proposal.status);
        return refuse(server, writing, who, &proposal, "proposal.edit", error, now).await;
    }
    if proposal.change.action() == Action::Destroy {
        return Err(DecisionError::Senseless("there is nothing to edit about a destroy: reject it instead"));
    }
    let before = proposal.effective_digest();
    let edited = match payload {
        Value::Null => None,
        payload => Some(read_edit(&proposal, payload, who)?),
    };
    let version = version.unwrap_or(proposal.version);
    if !writing.proposal_edit(id, version, edited.as_ref()).await? {
        return Err(DecisionError::Outdated);
    }
    let after = edited.as_ref().map(|edit| edit.digest).or(proposal.change.desired);
    let detail = json!({"resource": proposal.change.key.to_string()});
    writing.audit(AuditEntry {
        before,
        after,
        ..tell::entry(&who.actor(), "proposal.edit", ("proposal", id), detail, now)
    });
    let mut event =
        tell::proposal_event(&proposal, &proposal.run_id, Status::PendingApproval, &who.email, None, now);
    event.kind = "gitops.proposal_edited";
    event.message = format!("edited: {}", proposal.change.key);
    writing.event(event);
    server.commit(writing).await?;
    Ok(())
}

fn read_edit(proposal: &Proposal, payload: &Value, who: &Identity) -> Result<Edit, DecisionError> {
    let key = &proposal.change.key;
    let shown = proposal.effective().map(|spec| spec.to_json(Defaults::Fill));
    let spec = spec_value(key.kind, &key.name, payload)
        .and_then(|spec| put_back_hidden(key.kind, spec, shown.as_ref()))
        .map_err(|problem| DecisionError::Unsound(vec![*problem]))?;
    let read = Spec::read(key.kind, &spec.to_string());
    let Some(spec) = read.spec else { return Err(DecisionError::Unsound(read.diagnostics)) };
    let digest = spec.digest();
    Ok(Edit { spec: Arc::new(spec), digest, by: who.email.clone() })
}

async fn open_proposal(
    writing: &mut AccountWriting,
    who: &Identity,
    id: &str,
) -> Result<Proposal, DecisionError> {
    writing.proposal(&who.account_id, id).await?.ok_or(DecisionError::NotFound)
}

/// Refuses, on the record.
async fn refuse(
    server: &Server,
    mut writing: AccountWriting,
    who: &Identity,
    proposal: &Proposal,
    action: &'static str,
    error: DecisionError,
    now: Timestamp,
) -> Result<(), DecisionError> {
    let reason = match &error {
        DecisionError::Closed(status) => format!("it is {status}"),
        DecisionError::Moved { .. } => "it is not what was reviewed".to_owned(),
        DecisionError::NotAllowed(why) => why.clone(),
        _ => "refused".to_owned(),
    };
    let detail = json!({"reason": reason, "resource": proposal.change.key.to_string()});
    writing.audit(AuditEntry {
        outcome: Outcome::Refused,
        ..tell::entry(&who.actor(), action, ("proposal", &proposal.id), detail, now)
    });
    server.commit(writing).await?;
    Err(error)
}
