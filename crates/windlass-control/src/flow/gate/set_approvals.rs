//! Approvals of plan sets, and for which newly opened changes they count.

use std::collections::BTreeSet;

use serde_json::json;
use windlass_core::diff::Change;
use windlass_core::digest::Digest;
use windlass_core::event::{EventKind, NewEvent, Severity};
use windlass_core::gate::approval_digest;
use windlass_core::id::{ApprovalSetId, PlanId, RepositoryId, RunId};
use windlass_core::plan::{SetScope, signature_of};
use windlass_core::proposal::Approval;
use windlass_core::repository::Repository;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, ApprovalSet, Reading, StoreError};

use crate::record::{self, RepositoryEvent};

/// The approvals of sets of a repository's plan, and the changes for which each was used already. An approval counts
/// for one proposal of each member, so a change that was rejected, failed or expired since needs another approval.
#[derive(Debug, Default)]
pub(crate) struct SetApprovals {
    sets: Vec<ApprovalSet>,
    used: BTreeSet<(ApprovalSetId, Digest)>,
}

impl SetApprovals {
    /// Loads the approvals that count for these changes of a plan.
    pub(crate) async fn load<'c>(
        reading: &mut Reading,
        repository_id: &RepositoryId,
        plan_id: Option<&PlanId>,
        changes: impl Iterator<Item = &'c Change>,
    ) -> Result<SetApprovals, StoreError> {
        let mut sets = reading.approval_sets_in_force(repository_id).await?;
        sets.retain(|set| Some(&set.plan_id) == plan_id);
        if sets.is_empty() {
            return Ok(SetApprovals::default());
        }
        let contents: Vec<Digest> = changes.map(content_of).collect();
        let ids: Vec<&ApprovalSetId> = sets.iter().map(|set| &set.id).collect();
        let used = reading.approval_sets_used(&ids, &contents).await?;
        Ok(SetApprovals { sets, used })
    }

    /// The approvals that count for a change of the plan, each as if someone had approved its proposal.
    pub(crate) fn of(&self, change: &Change) -> Vec<Approval> {
        if self.sets.is_empty() {
            return Vec::new();
        }
        let content = content_of(change);
        let needs_signature = self.sets.iter().any(|set| set.scope != SetScope::Plan);
        let signature = needs_signature.then(|| signature_of(change));
        self.sets
            .iter()
            .filter(|set| set.scope.includes(signature))
            .filter(|set| !self.used.contains(&(set.id.clone(), content)))
            .map(|set| approval_from_set(set, content))
            .collect()
    }
}

/// The approval of a set, as an approval of one member.
pub(crate) fn approval_from_set(set: &ApprovalSet, content: Digest) -> Approval {
    Approval {
        approver: set.approver.clone(),
        digest: content,
        reason: set.reason.clone(),
        at: set.at,
        set_id: Some(set.id.clone()),
        lapsed: None,
    }
}

fn content_of(change: &Change) -> Digest {
    approval_digest(&change.key, change.base, change.desired)
}

/// An approval of a set that no longer counts.
pub(crate) struct SetApprovalLapse<'f> {
    pub(crate) set: &'f ApprovalSet,
    pub(crate) repository: &'f Repository,
    pub(crate) why: &'f str,
    /// Who caused it.
    pub(crate) actor: &'f Actor,
    /// The run that detected it.
    pub(crate) run_id: Option<&'f RunId>,
}

impl SetApprovalLapse<'_> {
    /// Stores it, with its event and audit entry.
    pub(crate) async fn save(&self, writing: &mut AccountWriting, now: Timestamp) -> Result<(), StoreError> {
        let SetApprovalLapse { set, repository, why, actor, run_id } = self;
        if !writing.approval_set_lapse(&set.id, why, now).await? {
            return Ok(());
        }
        let message = format!(
            "the approval by {} of {} changes of {} lapsed: {why}",
            set.approver, set.members, repository.name
        );
        let detail =
            json!({"digest": set.digest, "approver": set.approver, "changes": set.members, "reason": why});
        let event_content = RepositoryEvent {
            kind: EventKind::PlanApprovalFell,
            severity: Severity::Medium,
            by: &actor.name,
            message,
            payload: detail.clone(),
        };
        let event = event_content.event(repository, now);
        writing.event(NewEvent { correlation_id: run_id.cloned(), ..event });
        let target = ("approval_set", set.id.as_str());
        writing.audit(record::audit_entry(actor, "plan.approval_fell", target, detail, now));
        Ok(())
    }
}

/// Makes every approval of a repository's sets lapse.
pub(crate) async fn lapse_all_set_approvals(
    writing: &mut AccountWriting,
    repository: &Repository,
    why: &str,
    actor: &Actor,
    now: Timestamp,
) -> Result<(), StoreError> {
    for set in &writing.approval_sets_in_force(&repository.id).await? {
        SetApprovalLapse { set, repository, why, actor, run_id: None }.save(writing, now).await?;
    }
    Ok(())
}
