//! Guards: what a plan must not do, whatever the files declare.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::code::Code;
use crate::desired::Desired;
use crate::diagnostic::Diagnostic;
use crate::diff::{Action, Cause, Change};
use crate::quote::quoted;
use crate::resource::{Kind, ResourceKey, ResourceMap, Spec, SpecPath, member_name};
use crate::resource_finding::ResourceFinding;

/// More destroys than this are suspicious if they are also most of the repository's resources. Small repositories are
/// often emptied on purpose.
const MASS_DESTROY_COUNT: usize = 10;

/// Whether someone confirmed that most of a repository's resources are to be destroyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MassDestroyConfirmation {
    /// Nobody did: the plan is stopped.
    Missing,
    /// Someone did, for everything this run destroys.
    MassDestroy,
    /// Someone did for this other commit.
    OtherCommit(String),
    /// Someone did for an earlier run of the same commit, which would have destroyed these resources. Any further one
    /// needs a new confirmation.
    Earlier(BTreeSet<ResourceKey>),
}

impl MassDestroyConfirmation {
    fn covers(&self, key: &ResourceKey) -> bool {
        match self {
            MassDestroyConfirmation::Missing | MassDestroyConfirmation::OtherCommit(_) => false,
            MassDestroyConfirmation::MassDestroy => true,
            MassDestroyConfirmation::Earlier(confirmed) => confirmed.contains(key),
        }
    }
}

/// Why a whole plan is stopped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MassDestroy {
    /// The number of resources that would be destroyed.
    pub destroys: usize,
    /// The number of resources that the repository owns.
    pub owned: usize,
    /// The commit of the confirmation, if it is another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed_for: Option<String>,
}

impl MassDestroy {
    /// The problem for display.
    pub fn diagnostic(&self) -> Diagnostic {
        let MassDestroy { destroys, owned, confirmed_for } = self;
        let mut message =
            format!("this would destroy {destroys} of the {owned} resources the repository owns");
        if let Some(commit) = confirmed_for {
            message.push_str(&format!("; it was confirmed for another commit, {commit}"));
        }
        Diagnostic::without_place(Code::MassDestroy, "", message).help(
            "check for an emptied or misplaced file; if it is intended, confirm with --confirm-mass-destroy",
        )
    }
}

/// A change that the files ask for and the plan refuses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RefusedChange {
    /// The resource.
    #[serde(serialize_with = "as_text")]
    pub resource: ResourceKey,
    /// The reason.
    pub reason: String,
}

fn as_text<S: serde::Serializer>(key: &ResourceKey, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(key)
}

/// Removes the destroys that `protect` forbids, and those of everything that a protected resource needs.
pub(super) fn refuse_protected(mut changes: Vec<Change>) -> (Vec<Change>, Vec<RefusedChange>) {
    let destroyed: ResourceMap<&Change> = changes
        .iter()
        .filter(|change| change.action() == Action::Destroy)
        .map(|change| (change.key.clone(), change))
        .collect();
    let mut reasons: ResourceMap<String> = ResourceMap::default();
    let mut kept: Vec<&Change> = Vec::new();
    for (_, _, change) in destroyed.iter() {
        if change.before.as_ref().is_some_and(|spec| spec.is_protected()) {
            let reason = "it has `protect: true`; remove that in a separate change first".to_owned();
            reasons.insert(change.key.clone(), reason);
            kept.push(change);
        }
    }
    while let Some(change) = kept.pop() {
        let Some(before) = &change.before else { continue };
        before.references(&change.key.name, &mut |reference| {
            if let Some(needed) = destroyed.get(reference.kind, &reference.name)
                && !reasons.contains(reference.kind, &reference.name)
            {
                reasons.insert(needed.key.clone(), format!("{} still refers to it", change.key));
                kept.push(needed);
            }
        });
    }
    let refusals = reasons
        .iter()
        .map(|(kind, name, reason)| RefusedChange {
            resource: ResourceKey::new(kind, name),
            reason: reason.clone(),
        })
        .collect();
    let is_refused = |change: &Change| {
        change.action() == Action::Destroy && reasons.contains(change.key.kind, &change.key.name)
    };
    changes.retain(|change| !is_refused(change));
    (changes, refusals)
}

/// Declared resources, changed or not, that refer to a resource this plan destroys.
pub(super) fn find_dangling(desired: &Desired, changes: &[Change]) -> Vec<ResourceFinding> {
    let destroyed: ResourceMap<()> = changes
        .iter()
        .filter(|change| change.action() == Action::Destroy)
        .map(|change| (change.key.clone(), ()))
        .collect();
    if destroyed.is_empty() {
        return Vec::new();
    }
    let mut remarks = Vec::new();
    for (kind, name, declared) in desired.resources.iter() {
        declared.spec.references(name, &mut |reference| {
            // A version that is still used is blocked, and says by what.
            let is_version = reference.kind == Kind::ModuleVersion;
            if destroyed.contains(reference.kind, &reference.name) && !is_version {
                let message = format!(
                    "the {kind} {} refers to the {} {}, which this change destroys",
                    quoted(name),
                    reference.kind,
                    quoted(&reference.name)
                );
                remarks.push(ResourceFinding {
                    code: Code::ReferenceDestroyed,
                    key: ResourceKey::new(kind, name),
                    path: reference.at,
                    text: member_name(&reference.name).1.to_owned(),
                    message,
                    help: "keep the resource, or remove the reference".to_owned(),
                });
            }
        });
    }
    remarks
}

/// Modules whose content changes although their version stays the same. The content of a version never changes.
pub(super) fn find_reused_versions(changes: &[Change]) -> Vec<ResourceFinding> {
    let module_of = |spec: &Option<Arc<Spec>>| match spec.as_deref() {
        Some(Spec::Module(module)) => Some(module.clone()),
        _ => None,
    };
    changes
        .iter()
        // A resource of another repository has versions of its own.
        .filter(|change| change.cause != Cause::Contested)
        .filter_map(|change| {
            let (before, after) = (module_of(&change.before)?, module_of(&change.after)?);
            let version = after.version.clone()?;
            let is_reused =
                before.version == after.version && before.content_digest() != after.content_digest();
            is_reused.then(|| ResourceFinding {
                path: SpecPath::Field("version"),
                text: version.to_string(),
                ..ResourceFinding::for_resource(
                    change.key.clone(),
                    Code::VersionReused,
                    format!("the module {} changes, but stays version {version}", quoted(&change.key.name)),
                    "give it a new version: the content of a version never changes, and Windlass blocks the change",
                )
            })
        })
        .collect()
}

/// Whether the plan would destroy most of the repository's resources without a complete confirmation.
pub(super) fn mass_destroy(
    changes: &[Change],
    owned: usize,
    confirmation: &MassDestroyConfirmation,
) -> Option<MassDestroy> {
    let destroyed = || changes.iter().filter(|change| change.action() == Action::Destroy);
    let destroys = destroyed().count();
    let is_mass = destroys > MASS_DESTROY_COUNT && destroys * 2 > owned;
    let is_confirmed = || destroyed().all(|change| confirmation.covers(&change.key));
    let confirmed_for = match confirmation {
        MassDestroyConfirmation::OtherCommit(commit) => Some(commit.clone()),
        MassDestroyConfirmation::Missing
        | MassDestroyConfirmation::MassDestroy
        | MassDestroyConfirmation::Earlier(_) => None,
    };
    (is_mass && !is_confirmed()).then_some(MassDestroy { destroys, owned, confirmed_for })
}
