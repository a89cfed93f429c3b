//! A proposal as responses show it.

use serde_json::Value;
use windlass_api::types::{ApprovalInfo, ContributorInfo, GateInfo, ProposalInfo};
use windlass_core::apply::{Gatekeeper, failed_sync_of};
use windlass_core::content::ContentDifference;
use windlass_core::diff::{Cause, hide_secrets};
use windlass_core::gate::Consent;
use windlass_core::proposal::{Approval, BlockedBy, Proposal};
use windlass_core::repository::Repository;
use windlass_core::resource::Spec;
use windlass_core::shape::Defaults;
use windlass_core::time::Timestamp;

use crate::payload::{payload_of, with_name};

/// What the response shows in addition to the proposal itself.
pub(crate) struct ProposalContext<'a> {
    pub(crate) gatekeeper: &'a Gatekeeper,
    pub(crate) repository: Option<&'a Repository>,
    pub(crate) approvals: &'a [Approval],
    pub(crate) content: &'a [ContentDifference],
    pub(crate) person: &'a str,
    pub(crate) now: Timestamp,
}

fn full_spec(spec: &Spec) -> Value {
    hide_secrets(spec.to_json(Defaults::Fill))
}

/// Everything about a proposal. An edited proposal shows the edit, because that would be applied.
pub(crate) fn info(proposal: &Proposal, context: &ProposalContext<'_>) -> ProposalInfo {
    let change = &proposal.change;
    let effective = proposal.effective_change();
    let fields = effective.fields().into_iter().map(Into::into);
    let edited = proposal.edit.as_ref();
    let blocked_by = blocked_by(proposal, context.repository);
    ProposalInfo {
        id: proposal.id.to_string(),
        repository_id: proposal.repository_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        repository_name: source_of(proposal),
        run_id: proposal.run_id.as_ref().map(ToString::to_string).unwrap_or_default(),
        action: format!("{}_{}", change.action(), change.key.kind),
        kind: change.key.kind.slug().to_owned(),
        name: change.key.name.clone(),
        change: change.action(),
        cause: change.cause,
        explanation: explanation(change.cause, proposal),
        payload: payload_of(proposal),
        current: change.before.as_deref().map(full_spec),
        desired: effective.after.as_deref().map(full_spec),
        fields: fields.collect(),
        content: context.content.iter().cloned().map(Into::into).collect(),
        edited_payload: edited
            .map(|edit| with_name(&change.key, hide_secrets(edit.spec.to_json(Defaults::Omit)))),
        edited_by: edited.map(|edit| edit.by.clone()),
        digest: proposal.content_digest().to_string(),
        base_digest: change.base.map(|digest| digest.to_string()),
        desired_digest: change.desired.map(|digest| digest.to_string()),
        commit_sha: proposal.commit_sha.clone(),
        author: proposal.author.clone(),
        contributors: proposal
            .contributors
            .people()
            .iter()
            .map(|contributor| ContributorInfo { role: contributor.role, person: contributor.person.clone() })
            .collect(),
        contributors_gap: proposal.contributors.gap().map(|gap| gap.reason().to_owned()),
        direct_reason: proposal.direct_reason.clone(),
        file: proposal.declared_at.as_ref().map(|(file, _)| file.clone()),
        line: proposal.declared_at.as_ref().map(|(_, line)| *line).filter(|line| *line > 0),
        status: proposal.status,
        blocked_by: BlockedBy::sentences(&blocked_by),
        blocked_by_kinds: BlockedBy::kinds(&blocked_by),
        waits_for: proposal.waits_for.clone(),
        gate: proposal.status.is_open().then(|| gate_info(proposal, context)),
        approvals: context
            .approvals
            .iter()
            .map(|approval| approval_info(approval, proposal, context))
            .collect(),
        reason: proposal.reason.as_ref().map(ToString::to_string),
        decided_by: proposal.decided_by.clone(),
        effects: None,
        position: proposal.position,
        opened_at: proposal.opened_at.to_string(),
        expires_at: proposal.expires_at.to_string(),
        decided_at: proposal.decided_at.map(|at| at.to_string()),
        closed_at: proposal.closed_at.map(|at| at.to_string()),
        version: proposal.version,
    }
}

/// Where a proposal is from: its repository's name, or who changes the resource directly.
pub(crate) fn source_of(proposal: &Proposal) -> String {
    match (proposal.is_direct(), &proposal.author) {
        (false, _) => proposal.repository_name.clone(),
        (true, Some(author)) => format!("direct change by {author}"),
        (true, None) => "direct change".to_owned(),
    }
}

/// What blocks it other than a missing approval. Includes a failed sync of its repository, whether it is approved or not.
fn blocked_by(proposal: &Proposal, repository: Option<&Repository>) -> Vec<BlockedBy> {
    let mut reasons = proposal.blocked_by.clone();
    let failed = repository.filter(|_| proposal.status.is_open());
    let failed = failed.and_then(|repository| failed_sync_of(proposal, repository));
    if let Some(failed) = failed.map(BlockedBy::SyncFailed)
        // Compared as text: an earlier version stored this reason as text.
        && !BlockedBy::sentences(&reasons).contains(&failed.to_string())
    {
        reasons.push(failed);
    }
    reasons
}

fn explanation(cause: Cause, proposal: &Proposal) -> String {
    if proposal.is_direct() {
        let reason = proposal.direct_reason.as_deref().unwrap_or_default();
        return format!("{}: {reason}", source_of(proposal));
    }
    let repository = &proposal.repository_name;
    match cause {
        Cause::Declared => format!("Added in {repository}"),
        Cause::Edited => format!("Changed in {repository}"),
        Cause::Adopted => format!("Adopted by {repository}: it had no owner"),
        Cause::Contested => {
            format!("Declared in {repository}, but owned by another repository")
        }
        Cause::Removed => format!("Removed from {repository}"),
    }
}

fn approval_info(approval: &Approval, proposal: &Proposal, context: &ProposalContext<'_>) -> ApprovalInfo {
    // A closed proposal keeps the approvals that counted, even if an approver left since.
    let counts = match proposal.status.is_open() {
        true => context.gatekeeper.counts(proposal, context.repository, approval),
        false => approval.lapsed.is_none() && approval.digest == proposal.content_digest(),
    };
    ApprovalInfo {
        approver: approval.approver.clone(),
        digest: approval.digest.to_string(),
        counts,
        reason: approval.reason.clone(),
        at: approval.at.to_string(),
    }
}

fn gate_info(proposal: &Proposal, context: &ProposalContext<'_>) -> GateInfo {
    let judgement = context.gatekeeper.judge(proposal, context.repository, context.approvals, context.now);
    let why_not_you = context.gatekeeper.why_cannot_approve(
        proposal,
        context.repository,
        context.approvals,
        context.person,
    );
    let consent = judgement.consent.state();
    let (have, need, reasons) = match judgement.consent {
        Consent::Granted { .. } => (0, 0, Vec::new()),
        Consent::Needed { have, need, reasons } => {
            (have, need, reasons.iter().map(ToString::to_string).collect())
        }
        Consent::Refused { reason } => (0, 0, vec![reason.to_string()]),
    };
    GateInfo {
        rule: judgement.rule,
        consent,
        have,
        need,
        reasons,
        holds: judgement.hold.iter().map(ToString::to_string).collect(),
        why_not_you,
    }
}
