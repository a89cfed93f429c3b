//! Drift: the report, reverting a difference, accepting it and withdrawing the acceptance.

use serde_json::json;
use windlass_api::permission::Permission;
use windlass_api::types::{
    AcceptBody, Acceptance as AcceptanceInfo, DriftItem, DriftReport, DriftTarget, Reverted,
};
use windlass_core::diff::nonempty_diff_document;
use windlass_core::drift::{Acceptance, DifferenceOrigin, GitDifference};
use windlass_core::event::{EventKind, Severity};
use windlass_core::proposal::Status;
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey, ResourceMap};
use windlass_core::run::Trigger;
use windlass_core::time::Timestamp;
use windlass_store::{ProposalFilter, ProposalSource, Reading};

use crate::ask::repository::find::find;
use crate::caller::Identity;
use crate::clock::now;
use crate::control::Control;
use crate::flow::drift::differences::{DifferenceDetails, RepositoryDifferences, details_of, differences_of};
use crate::flow::gate::gatekeeper::may_approve;
use crate::flow::sync::queue::{SyncRequest, queue_run};
use crate::record::{self, RepositoryEvent};
use crate::refusal::Refusal;

/// The differences between the accepted state and what a repository last declared, each with who made it.
pub async fn report_of(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
) -> Result<DriftReport, Refusal> {
    let found = differences_of(reading, &who.account_id, &repository.id).await?;
    let filter = ProposalFilter {
        statuses: vec![Status::PendingApproval, Status::Approved],
        source: Some(ProposalSource::Repository(repository.id.clone())),
        ..ProposalFilter::default()
    };
    let mut open: ResourceMap<String> = reading
        .proposals(&who.account_id, &filter, None, i32::MAX as usize)
        .await?
        .into_iter()
        .map(|proposal| (proposal.change.key, proposal.id.to_string()))
        .collect();
    let (mut drifted, mut pending, mut accepted) = (Vec::new(), Vec::new(), Vec::new());
    let all: Vec<&GitDifference> = found.differences.iter().collect();
    let items = load_items(reading, who, repository, &found, &all).await?;
    for (difference, mut item) in all.into_iter().zip(items) {
        item.proposal_id = open.remove(difference.key.kind, &difference.key.name);
        match (item.acceptance.is_some(), difference.origin) {
            (true, _) => accepted.push(item),
            (false, DifferenceOrigin::ManualChange) => drifted.push(item),
            (false, DifferenceOrigin::Pending) => pending.push(item),
        }
    }
    let diff =
        nonempty_diff_document(found.not_accepted().map(|difference| (difference.action, &difference.key)));
    Ok(DriftReport {
        drift: !drifted.is_empty(),
        repository_id: repository.id.to_string(),
        commit_sha: repository.good_commit.clone(),
        compared_with: repository.good_at.map(|at| at.to_string()),
        drifted,
        pending,
        accepted,
        diff,
    })
}

fn acceptance_info(acceptance: &Acceptance) -> AcceptanceInfo {
    AcceptanceInfo {
        by: acceptance.by.clone(),
        reason: acceptance.reason.clone(),
        until: acceptance.until.map(|until| until.to_string()),
    }
}

/// Differences of a repository with all details except their proposals, in the same order.
pub async fn load_items(
    reading: &mut Reading,
    who: &Identity,
    repository: &Repository,
    found: &RepositoryDifferences,
    differences: &[&GitDifference],
) -> Result<Vec<DriftItem>, Refusal> {
    let mut details = details_of(reading, &who.account_id, &repository.id, differences).await?;
    let items = differences.iter().map(|difference| {
        let key = &difference.key;
        let details = details.remove(key.kind, &key.name).unwrap_or_default();
        item_of(difference, details, found.acceptance(difference))
    });
    Ok(items.collect())
}

fn item_of(
    difference: &GitDifference,
    details: DifferenceDetails,
    acceptance: Option<&Acceptance>,
) -> DriftItem {
    // A pending difference comes from git; the last accepted change did not cause it.
    let changed = details.last_change.filter(|_| difference.origin == DifferenceOrigin::ManualChange);
    let (changed_by, changed_at) = changed.unzip();
    DriftItem {
        kind: difference.key.kind.slug().to_owned(),
        name: difference.key.name.clone(),
        change: difference.action,
        fields: details.fields.into_iter().map(Into::into).collect(),
        changed_by,
        changed_at: changed_at.map(|at| at.to_string()),
        proposal_id: None,
        acceptance: acceptance.map(acceptance_info),
    }
}

pub(crate) fn read_key(kind: &str, name: &str) -> Result<ResourceKey, Refusal> {
    let kind = Kind::from_word(kind)
        .ok_or_else(|| Refusal::unprocessable("bad-value", "not a kind of resource", "for example node"))?;
    Ok(ResourceKey::new(kind, name))
}

/// The difference of a resource; an error if it is in sync.
pub(crate) fn find_difference<'f>(
    found: &'f RepositoryDifferences,
    key: &ResourceKey,
) -> Result<&'f GitDifference, Refusal> {
    let difference = found.differences.iter().find(|difference| difference.key == *key);
    difference.ok_or_else(|| {
        Refusal::conflict("no-difference", format!("{key} is in sync"), "see the drift report")
    })
}

/// Proposes to restore a resource to its desired state.
pub async fn revert_one(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &DriftTarget,
) -> Result<Reverted, Refusal> {
    let now = now();
    let key = read_key(&body.kind, &body.name)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    let found = differences_of(&mut writing, &who.account_id, &repository.id).await?;
    let difference = find_difference(&found, &key)?;
    // Only approvers accept a difference, so only approvers may withdraw the acceptance.
    if found.acceptance(difference).is_some() && !may_approve(who) {
        let message = format!(
            "the difference of {key} is accepted: reverting it needs the permission {}",
            Permission::GitopsApprove
        );
        return Err(Refusal::forbidden(message, "ask an approver to revert it"));
    }
    writing.acceptance_remove(&repository.id, &key).await?;
    let request = SyncRequest::new(Trigger::Revert, Some(&who.email));
    let run_id = queue_run(&mut writing, &repository, &request, now).await?;
    let detail = json!({"repository": repository.name, "sync_run_id": run_id});
    writing.audit(record::audit_entry(
        &who.actor(),
        "drift.revert",
        ("drift", &key.to_string()),
        detail,
        now,
    ));
    server.commit(writing).await?;
    server.nudges().sync.notify_one();
    let message = format!("proposed to restore {key} to its state in git; approve the proposal to apply it");
    Ok(Reverted { sync_run_id: run_id.to_string(), message })
}

/// Accepts a difference as intended.
pub async fn accept_one(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &AcceptBody,
) -> Result<DriftReport, Refusal> {
    let now = now();
    let key = read_key(&body.kind, &body.name)?;
    let reason: String = body.reason.trim().chars().take(500).collect();
    if reason.is_empty() {
        return Err(Refusal::unprocessable(
            "missing-key",
            "accepting a difference needs a reason",
            "give a reason",
        ));
    }
    let until = read_until(body.until.as_deref(), now)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    let found = differences_of(&mut writing, &who.account_id, &repository.id).await?;
    let difference = find_difference(&found, &key)?;
    let acceptance = Acceptance {
        key: key.clone(),
        desired: difference.desired,
        accepted: difference.accepted,
        until,
        reason: reason.clone(),
        by: who.email.clone(),
        at: now,
    };
    writing.acceptance_put(&repository.id, &acceptance).await?;
    let detail = json!({"repository": repository.name, "reason": reason, "until": until});
    writing.audit(record::audit_entry(
        &who.actor(),
        "drift.accept",
        ("drift", &key.to_string()),
        detail.clone(),
        now,
    ));
    let message = format!("{} accepted the drift of {key}: {reason}", who.email);
    let news = RepositoryEvent {
        kind: EventKind::DriftAccepted,
        severity: Severity::Medium,
        by: &who.email,
        message,
        payload: detail,
    };
    writing.event(news.event(&repository, now));
    let report = report_of(&mut writing, who, &repository).await?;
    server.commit(writing).await?;
    server.nudges().drift.notify_one();
    server.nudges().sync.notify_one();
    Ok(report)
}

pub(crate) fn read_until(text: Option<&str>, now: Timestamp) -> Result<Option<Timestamp>, Refusal> {
    let Some(text) = text else { return Ok(None) };
    let until = Timestamp::parse(text).filter(|until| *until > now);
    until.map(Some).ok_or_else(|| {
        Refusal::unprocessable(
            "bad-value",
            "until must be a time in the future",
            "write for example 2027-01-31T18:00:00Z",
        )
    })
}

/// Withdraws the acceptance of a difference.
pub async fn revoke_acceptance(
    server: &Control,
    who: &Identity,
    id_or_name: &str,
    body: &DriftTarget,
) -> Result<DriftReport, Refusal> {
    let now = now();
    let key = read_key(&body.kind, &body.name)?;
    let mut writing = server.store().write_account(&who.account_id).await?;
    let repository = find(&mut writing, who, id_or_name).await?;
    if !writing.acceptance_remove(&repository.id, &key).await? {
        return Err(Refusal::not_found());
    }
    let detail = json!({"repository": repository.name});
    writing.audit(record::audit_entry(
        &who.actor(),
        "drift.unaccept",
        ("drift", &key.to_string()),
        detail,
        now,
    ));
    let report = report_of(&mut writing, who, &repository).await?;
    server.commit(writing).await?;
    server.nudges().drift.notify_one();
    Ok(report)
}
