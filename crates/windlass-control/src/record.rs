//! Events and audit entries that several places create, so that they read alike. Those that only one place creates are
//! built there.

use serde_json::{Value, json};
use windlass_core::diff::{Action, Change};
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::id::{ProposalId, RepositoryId, RolloutId, RunId};
use windlass_core::proposal::{Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::ResourceKey;
use windlass_core::run::Run;
use windlass_core::time::Timestamp;
use windlass_store::{Actor, AuditEntry, Outcome};

/// An event about a proposal that reached a state.
pub(crate) fn proposal_event(
    proposal: &Proposal,
    run_id: Option<&RunId>,
    status: Status,
    by: &str,
    reason: Option<&str>,
    now: Timestamp,
) -> NewEvent {
    let kind = match status {
        Status::PendingApproval => EventKind::ProposalOpened,
        Status::Approved => EventKind::ProposalApproved,
        Status::Applied => EventKind::ProposalApplied,
        Status::Failed => EventKind::ProposalFailed,
        Status::Rejected => EventKind::ProposalRejected,
        Status::Superseded => EventKind::ProposalSuperseded,
        Status::Withdrawn => EventKind::ProposalWithdrawn,
        Status::Expired => EventKind::ProposalExpired,
        Status::AppliedManually => EventKind::ProposalAppliedManually,
    };
    let severity = match (status, proposal.change.action()) {
        (Status::Failed, _) => Severity::High,
        (Status::PendingApproval | Status::Applied, Action::Destroy) | (Status::Expired, _) => {
            Severity::Medium
        }
        _ => Severity::Low,
    };
    let what = format!("{} {}", proposal.change.action(), proposal.change.key);
    let message = match (status, reason) {
        (Status::PendingApproval, _) => format!("proposed: {what}"),
        (status, Some(reason)) => format!("{}: {what}: {reason}", status.slug().replace('_', " ")),
        (status, None) => format!("{}: {what}", status.slug().replace('_', " ")),
    };
    NewEvent {
        kind,
        severity,
        resource: Some(proposal.change.key.clone()),
        repository_id: proposal.governing_repository().cloned(),
        correlation_id: run_id.cloned(),
        source: by.to_owned(),
        message,
        payload: json!({
            "proposal_id": proposal.id,
            "change": proposal.change.action(),
            "digest": proposal.content_digest(),
            "commit_sha": proposal.commit_sha,
            "reason": reason,
        }),
        at: now,
    }
}

/// An event about a sync run.
pub(crate) fn run_event(
    kind: EventKind,
    severity: Severity,
    run: &Run,
    message: String,
    payload: Value,
    now: Timestamp,
) -> NewEvent {
    NewEvent {
        kind,
        severity,
        resource: None,
        repository_id: Some(run.repository_id.clone()),
        correlation_id: Some(run.id.clone()),
        source: run.requested_by.clone().unwrap_or_else(|| "windlass".to_owned()),
        message,
        payload,
        at: now,
    }
}

/// The event that requests approval: one for all undecided proposals that a run opened. `remaining` more changes
/// follow.
pub(crate) fn approval_requested(
    run: &Run,
    waiting: &[&Proposal],
    remaining: usize,
    now: Timestamp,
) -> NewEvent {
    let count = |action: Action| waiting.iter().filter(|proposal| proposal.change.action() == action).count();
    let (create, update, destroy) = (count(Action::Create), count(Action::Update), count(Action::Destroy));
    let repository = &run.repository_name;
    let words = match waiting.len() {
        1 => format!("1 change of {repository} is pending"),
        many => format!("{many} changes of {repository} are pending"),
    };
    let more = if remaining > 0 { format!("; {remaining} more follow") } else { String::new() };
    let message =
        format!("{words} approval: {create} to create, {update} to change, {destroy} to destroy{more}");
    let payload = json!({
        "waiting": waiting.len(), "create": create, "update": update, "destroy": destroy,
        "remaining": remaining, "commit_sha": run.commit_sha, "page": format!("/app/approvals?run={}", run.id),
    });
    run_event(EventKind::ApprovalRequested, Severity::Medium, run, message, payload, now)
}

/// The event that requests approval of a direct change.
pub(crate) fn direct_approval_requested(proposal: &Proposal, now: Timestamp) -> NewEvent {
    let by = proposal.author.as_deref().unwrap_or("someone");
    let (action, key) = (proposal.change.action(), &proposal.change.key);
    NewEvent {
        kind: EventKind::ApprovalRequested,
        severity: Severity::Medium,
        resource: Some(key.clone()),
        repository_id: proposal.owner_id.clone(),
        correlation_id: None,
        source: by.to_owned(),
        message: format!("a direct change by {by} is pending approval: {action} {key}"),
        payload: json!({"waiting": 1, "change": action, "proposal_id": proposal.id,
            "reason": proposal.direct_reason, "page": format!("/app/proposals/{}", proposal.id)}),
        at: now,
    }
}

/// The content of an event about a repository.
#[derive(Debug)]
pub(crate) struct RepositoryEvent<'n> {
    pub(crate) kind: EventKind,
    pub(crate) severity: Severity,
    /// Who caused it.
    pub(crate) by: &'n str,
    pub(crate) message: String,
    pub(crate) payload: Value,
}

impl RepositoryEvent<'_> {
    /// The event itself.
    pub(crate) fn event(self, repository: &Repository, now: Timestamp) -> NewEvent {
        NewEvent {
            kind: self.kind,
            severity: self.severity,
            resource: None,
            repository_id: Some(repository.id.clone()),
            correlation_id: None,
            source: self.by.to_owned(),
            message: self.message,
            payload: self.payload,
            at: now,
        }
    }
}

/// The content of an event about a rollout.
#[derive(Debug)]
pub(crate) struct RolloutEvent<'n> {
    pub(crate) kind: EventKind,
    pub(crate) severity: Severity,
    /// Who caused it.
    pub(crate) by: &'n str,
    pub(crate) message: String,
    pub(crate) payload: Value,
}

impl RolloutEvent<'_> {
    /// The event itself.
    pub(crate) fn event(mut self, id: &RolloutId, governed_by: &ResourceKey, now: Timestamp) -> NewEvent {
        self.payload["rollout_id"] = json!(id);
        self.payload["page"] = json!(format!("/app/rollouts/{id}"));
        NewEvent {
            kind: self.kind,
            severity: self.severity,
            resource: Some(governed_by.clone()),
            repository_id: None,
            correlation_id: None,
            source: self.by.to_owned(),
            message: self.message,
            payload: self.payload,
            at: now,
        }
    }
}

/// A change of a resource.
#[derive(Clone, Debug)]
pub(crate) struct ResourceChange<'c> {
    pub(crate) change: &'c Change,
    pub(crate) repository_id: Option<RepositoryId>,
    pub(crate) run_id: Option<RunId>,
    pub(crate) proposal_id: Option<ProposalId>,
    pub(crate) actor: &'c Actor,
    pub(crate) audit_action: &'static str,
    pub(crate) now: Timestamp,
}

impl ResourceChange<'_> {
    /// The event and the audit entry of the change.
    pub(crate) fn event_and_entry(&self) -> (NewEvent, AuditEntry) {
        let (key, action) = (&self.change.key, self.change.action());
        let word = match action {
            Action::Create => "created",
            Action::Update => "changed",
            Action::Destroy => "destroyed",
        };
        let detail =
            json!({"change": action, "fields": self.change.fields(), "proposal_id": self.proposal_id});
        let event = NewEvent {
            kind: EventKind::ResourceChanged,
            severity: Severity::Low,
            resource: Some(key.clone()),
            repository_id: self.repository_id.clone(),
            correlation_id: self.run_id.clone(),
            source: self.actor.name.clone(),
            message: format!("{key} was {word} by {}", self.actor.name),
            payload: detail.clone(),
            at: self.now,
        };
        let entry = AuditEntry {
            actor: self.actor.clone(),
            action: self.audit_action,
            target_kind: key.kind.slug().to_owned(),
            target: key.name.clone(),
            outcome: Outcome::Done,
            before: self.change.base,
            after: self.change.desired,
            detail,
            at: self.now,
        };
        (event, entry)
    }
}

/// An audit entry about something that is not a resource.
pub fn audit_entry(
    actor: &Actor,
    action: &'static str,
    target: (&str, &str),
    detail: Value,
    now: Timestamp,
) -> AuditEntry {
    AuditEntry {
        actor: actor.clone(),
        action,
        target_kind: target.0.to_owned(),
        target: target.1.to_owned(),
        outcome: Outcome::Done,
        before: None,
        after: None,
        detail,
        at: now,
    }
}
