//! What follows a module version: when a version is made or its state changes, the resources whose pins select another
//! version now get proposals.
//!
//! A resource of a repository is proposed by a run of that repository, so that identical changes are one group and the
//! repository's rules apply. A resource of nobody gets a direct change by whoever changed the version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use windlass_core::catalogue::KnownModules;
use windlass_core::diff::{Cause, Change};
use windlass_core::gate::{Contributor, ContributorRole};
use windlass_core::id::{AccountId, RepositoryId};
use windlass_core::proposal::{CloseReason, Proposal, Status};
use windlass_core::repository::Repository;
use windlass_core::resource::{Kind, ResourceKey, Spec};
use windlass_core::run::Trigger;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, ProposalFilter, Resource, StoreError, new_id};

use crate::account_state::modules::load_known_modules;
use crate::flow::close::close_proposal::{ProposalClosing, close_proposals};
use crate::flow::sync::queue::{SyncRequest, queue_run};
use crate::record;

/// What changed about versions.
#[derive(Default)]
pub(crate) struct ChangedVersions {
    /// The modules whose versions changed, by whatever change.
    pub(crate) modules: BTreeSet<String>,
    /// The repositories that declare versions that followed their modules.
    pub(crate) owners: BTreeSet<RepositoryId>,
}

/// Who changed versions, and how long proposals stay open.
pub(crate) struct Promotion<'p> {
    /// The e-mail address; none if no person did.
    pub(crate) by: Option<&'p str>,
    pub(crate) lifetime: Duration,
    pub(crate) now: Timestamp,
}

/// Queues runs of the repositories, and opens direct changes of the resources of nobody, whose pins select other versions
/// of these modules now. Returns whether a run was queued.
pub(crate) async fn propose_followers(
    writing: &mut AccountWriting,
    changed: ChangedVersions,
    promotion: &Promotion<'_>,
) -> Result<bool, StoreError> {
    let ChangedVersions { modules, owners: mut repositories } = changed;
    if modules.is_empty() {
        return Ok(false);
    }
    let modules = &modules;
    let account_id = writing.account_id().clone();
    let known = load_known_modules(writing, &account_id).await?;
    let filter = ProposalFilter {
        statuses: vec![Status::PendingApproval, Status::Approved],
        ..ProposalFilter::default()
    };
    let open = writing.proposals(&account_id, &filter, None, i32::MAX as usize).await?;
    let outdated = open.iter().filter(|proposal| is_outdated(proposal, modules, &known));
    repositories.extend(outdated.filter_map(|proposal| proposal.repository_id.clone()));
    let targets: Vec<ResourceKey> =
        modules.iter().map(|module| ResourceKey::new(Kind::Module, module.as_str())).collect();
    let followers: BTreeSet<ResourceKey> =
        writing.referrers(&account_id, &targets).await?.into_iter().map(|(follower, _)| follower).collect();
    let followers: Vec<ResourceKey> = followers.into_iter().collect();
    for resource in writing.resources_of(&account_id, &followers).await? {
        let Some(moved) = moved(&resource.key.name, &resource.spec, modules, &known) else { continue };
        match &resource.owner_id {
            Some(owner) => repositories.extend([owner.clone()]),
            None => follow_directly(writing, &resource, moved, &open, promotion).await?,
        }
    }
    queue_runs(writing, &account_id, &repositories, promotion).await
}

async fn queue_runs(
    writing: &mut AccountWriting,
    account_id: &AccountId,
    repositories: &BTreeSet<RepositoryId>,
    promotion: &Promotion<'_>,
) -> Result<bool, StoreError> {
    let mut is_queued = false;
    for id in repositories {
        // Without a good commit there is nothing stored to compare; the next sync finds the versions itself.
        let repository = writing.repository(account_id, id.as_str()).await?;
        let Some(repository) = repository.filter(is_comparable) else { continue };
        let request = SyncRequest::new(Trigger::Promotion, promotion.by);
        queue_run(writing, &repository, &request, promotion.now).await?;
        is_queued = true;
    }
    Ok(is_queued)
}

fn is_comparable(repository: &Repository) -> bool {
    repository.good_commit.is_some() && repository.left_by.is_none()
}

/// Whether a sync would propose something else instead of an open proposal.
fn is_outdated(proposal: &Proposal, modules: &BTreeSet<String>, known: &KnownModules) -> bool {
    let key = &proposal.change.key;
    let Some(spec) = &proposal.change.after else { return false };
    match spec.as_ref() {
        Spec::ModuleVersion(version) => {
            let is_ours = key.name.split_once('@').is_some_and(|(module, _)| modules.contains(module));
            is_ours && version.content.as_ref() != known.content(&key.name)
        }
        spec => moved(&key.name, spec, modules, known).is_some(),
    }
}

/// The spec with the versions that its pins select now; none if they select the same. A pin without a version that is not
/// needed, as that of an assignment whose template has one, stays without.
fn moved(name: &str, spec: &Spec, modules: &BTreeSet<String>, known: &KnownModules) -> Option<Spec> {
    let is_assignment = spec.kind() == Kind::Assignment;
    let moved = spec.with_versions(name, |pin| {
        let is_meant = modules.contains(pin.module) && !(is_assignment && pin.resolved.is_none());
        match is_meant {
            true => known.select(pin.module, pin.selector).cloned(),
            false => pin.resolved.cloned(),
        }
    });
    (moved != *spec).then_some(moved)
}

/// Opens a direct change of a resource of nobody. It replaces an earlier one that only follows versions too; any other open
/// direct change of the resource stays, and whoever makes it sees the newer versions.
async fn follow_directly(
    writing: &mut AccountWriting,
    resource: &Resource,
    moved: Spec,
    open: &[Proposal],
    promotion: &Promotion<'_>,
) -> Result<(), StoreError> {
    let pins =
        moved.resolved_versions().into_iter().map(|((_, pin), version)| (pin.into_owned(), version.clone()));
    let pins: BTreeMap<String, _> = pins.collect();
    if pins.is_empty() {
        // Nothing satisfies a pin any more: the accepted version stays.
        return Ok(());
    }
    let is_direct = |proposal: &&Proposal| proposal.is_direct() && proposal.change.key == resource.key;
    if let Some(earlier) = open.iter().find(is_direct) {
        let only_follows = earlier.edit.is_none()
            && earlier.change.base == Some(resource.digest)
            && earlier
                .change
                .after
                .as_ref()
                .is_some_and(|after| after.declared_digest() == moved.declared_digest());
        if !only_follows || earlier.change.desired == Some(moved.digest()) {
            return Ok(());
        }
        let reason = CloseReason::ReplacedByDirectChange;
        let closing = ProposalClosing::new(earlier, Status::Superseded, Some(&reason));
        close_proposals(writing, &[closing], None, promotion.now).await?;
    }
    let proposal = new_proposal(writing.account_id().clone(), resource, moved, promotion);
    writing.proposals_add(std::slice::from_ref(&proposal)).await?;
    let by = promotion.by.unwrap_or("windlass");
    let opened = record::proposal_event(&proposal, None, Status::PendingApproval, by, None, promotion.now);
    writing.event(opened);
    writing.event(record::direct_approval_requested(&proposal, promotion.now));
    Ok(())
}

fn new_proposal(
    account_id: AccountId,
    resource: &Resource,
    moved: Spec,
    promotion: &Promotion<'_>,
) -> Proposal {
    let change = Change {
        key: resource.key.clone(),
        cause: Cause::Edited,
        before: Some(Arc::clone(&resource.spec)),
        base: Some(resource.digest),
        desired: Some(moved.digest()),
        after: Some(Arc::new(moved)),
    };
    let promoter = promotion.by.and_then(|by| Contributor::new(ContributorRole::Writer, by));
    Proposal {
        id: new_id(),
        account_id,
        repository_id: None,
        repository_name: String::new(),
        run_id: None,
        owner_id: None,
        direct_reason: Some("its pins select other module versions now".to_owned()),
        change,
        position: 0,
        edit: None,
        commit_sha: String::new(),
        author: promotion.by.map(str::to_owned),
        contributors: promoter.into_iter().collect(),
        declared_at: None,
        previous_file: resource.declared_in.clone(),
        status: Status::PendingApproval,
        blocked_by: Vec::new(),
        waits_for: Vec::new(),
        reason: None,
        decided_by: None,
        until_change: false,
        opened_at: promotion.now,
        expires_at: promotion.now.plus(promotion.lifetime),
        decided_at: None,
        closed_at: None,
        version: 1,
    }
}
