//! The versions that applied modules make, in the transaction that applies them.

use std::collections::BTreeSet;
use std::sync::Arc;

use windlass_core::apply::{described_version, versions_made};
use windlass_core::diff::{Cause, Change};
use windlass_core::id::{ProposalId, RepositoryId, RunId};
use windlass_core::resource::{Kind, ModuleVersionSpec, ResourceKey, ResourceMap, Spec};
use windlass_core::target_assignment::CoveringApproval;
use windlass_core::time::Timestamp;
use windlass_store::{AccountWriting, Actor, NewResource, Resource, ResourceToDestroy, StoreError};

use crate::flow::follow::ChangedVersions;
use crate::record::ResourceChange;

/// A change that was applied, and by whom.
pub(crate) struct AppliedChange<'a> {
    pub(crate) change: &'a Change,
    pub(crate) by: &'a str,
    pub(crate) approval: &'a CoveringApproval,
    pub(crate) actor: Actor,
    pub(crate) run_id: Option<RunId>,
    pub(crate) proposal_id: Option<ProposalId>,
}

/// Stores the versions that applied changes of modules make, and removes those of destroyed modules that nothing uses, each
/// with its event and its audit entry. Returns what changed.
pub(crate) async fn store_versions(
    writing: &mut AccountWriting,
    applied: &[AppliedChange<'_>],
    now: Timestamp,
) -> Result<ChangedVersions, StoreError> {
    let mut changed = ChangedVersions::default();
    let existing = load_existing(writing, applied).await?;
    for applied in applied {
        let key = &applied.change.key;
        match key.kind {
            Kind::ModuleVersion => {
                changed.modules.extend(key.name.split_once('@').map(|(module, _)| module.to_owned()));
            }
            Kind::Module => {
                changed.modules.insert(key.name.clone());
                changed.owners.extend(make_versions(writing, applied, &existing, now).await?);
                if applied.change.after.is_none() {
                    remove_versions(writing, applied, now).await?;
                }
            }
            _ => {}
        }
    }
    Ok(changed)
}

async fn load_existing(
    writing: &mut AccountWriting,
    applied: &[AppliedChange<'_>],
) -> Result<ResourceMap<Resource>, StoreError> {
    let account_id = writing.account_id().clone();
    let described = |change: &Change| {
        let specs = change.before.iter().chain(&change.after);
        specs.filter_map(|spec| described_version(&change.key, spec)).collect::<Vec<_>>()
    };
    let keys: Vec<ResourceKey> = applied.iter().flat_map(|applied| described(applied.change)).collect();
    if keys.is_empty() {
        return Ok(ResourceMap::default());
    }
    let found = writing.resources_of(&account_id, &keys).await?;
    Ok(found.into_iter().map(|resource| (resource.key.clone(), resource)).collect())
}

/// Stores the versions that a module makes, which belong to nobody until a repository declares them. Returns the
/// repositories that own those that existed.
async fn make_versions(
    writing: &mut AccountWriting,
    applied: &AppliedChange<'_>,
    existing: &ResourceMap<Resource>,
    now: Timestamp,
) -> Result<BTreeSet<RepositoryId>, StoreError> {
    let mut owners = BTreeSet::new();
    let spec_of = |key: &ResourceKey| -> Option<ModuleVersionSpec> {
        match existing.get(key.kind, &key.name)?.spec.as_ref() {
            Spec::ModuleVersion(version) => Some(version.clone()),
            _ => None,
        }
    };
    for (key, spec) in versions_made(applied.change, spec_of) {
        let standing = existing.get(key.kind, &key.name);
        let digest = spec.digest();
        let owner_id = standing.and_then(|standing| standing.owner_id.as_ref());
        let new = NewResource {
            key: &key,
            spec: &spec,
            digest,
            owner_id,
            declared_in: None,
            by: applied.by,
            approval: applied.approval,
        };
        writing.resources_put(&[new], now).await?;
        let change = Change {
            cause: if standing.is_some() { Cause::Edited } else { Cause::Declared },
            before: standing.map(|standing| Arc::clone(&standing.spec)),
            base: standing.map(|standing| standing.digest),
            desired: Some(digest),
            after: Some(spec),
            key,
        };
        record(writing, applied, &change, "module_version.make", now);
        if let Some(owner) = owner_id {
            // Nobody changed it by hand: it followed the module.
            writing.desired_mark_agreed_among(&[(owner, &change.key, change.desired)]).await?;
            owners.insert(owner.clone());
        }
    }
    Ok(owners)
}

/// Removes the versions of a destroyed module. A version that something uses, that is protected or that a repository
/// declares stays.
async fn remove_versions(
    writing: &mut AccountWriting,
    applied: &AppliedChange<'_>,
    now: Timestamp,
) -> Result<(), StoreError> {
    let account_id = writing.account_id().clone();
    let mut versions = writing.module_versions_of(&account_id, &applied.change.key.name).await?;
    versions.retain(|version| version.owner_id.is_none() && !version.spec.is_protected());
    let keys: Vec<ResourceKey> = versions.iter().map(|version| version.key.clone()).collect();
    let used: BTreeSet<ResourceKey> =
        writing.referrers(&account_id, &keys).await?.into_iter().map(|(_, target)| target).collect();
    for version in versions.into_iter().filter(|version| !used.contains(&version.key)) {
        let ended = ResourceToDestroy { key: &version.key, by: applied.by };
        writing.resource_remove(ended, now).await?;
        let change = Change {
            key: version.key,
            cause: Cause::Removed,
            before: Some(version.spec),
            base: Some(version.digest),
            after: None,
            desired: None,
        };
        record(writing, applied, &change, "module_version.remove", now);
    }
    Ok(())
}

fn record(
    writing: &mut AccountWriting,
    applied: &AppliedChange<'_>,
    change: &Change,
    audit_action: &'static str,
    now: Timestamp,
) {
    let resource_change = ResourceChange {
        change,
        repository_id: None,
        run_id: applied.run_id.clone(),
        proposal_id: applied.proposal_id.clone(),
        actor: &applied.actor,
        audit_action,
        now,
    };
    let (event, entry) = resource_change.event_and_entry();
    writing.event(event);
    writing.audit(entry);
}
