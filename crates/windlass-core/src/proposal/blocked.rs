//! What a change still waits for, beside approval.

use crate::blocked_by::BlockedBy;
use crate::conflict::Conflict;
use crate::diff::{Action, Change};
use crate::digest::Digest;
use crate::resource::{Kind, ResourceKey, Spec, version_name};
use crate::value::{Lifecycle, Selector};

/// What exists at the moment, for references.
pub trait ResourceLookup {
    /// Whether the resource is accepted or comes with Windlass.
    fn exists(&self, kind: Kind, name: &str) -> bool;

    /// Whether machines of this platform can be made.
    fn has_platform(&self, name: &str) -> bool;

    /// Whether the module exists without a version, which every pin that is not exact selects.
    fn has_unnumbered(&self, module: &str) -> bool;

    /// The digest of the content of a module version, by its name; none if there is no such version.
    fn version_content(&self, name: &str) -> Option<Digest>;

    /// Accepted resources that refer to this one.
    fn referrers(&self, key: &ResourceKey) -> Vec<ResourceKey>;
}

/// Reasons of one sort that are told; of the others only how many there are.
const MAX_LISTED: usize = 10;

/// Why the change cannot be made yet: what others have, what it refers to and is not there, or what still refers to what
/// it destroys.
pub fn blockers(change: &Change, existing: &impl ResourceLookup, conflicts: &[Conflict]) -> Vec<BlockedBy> {
    let mut reasons = list_reasons(conflicts, BlockedBy::Conflict);
    match (change.action(), change.after.as_deref()) {
        (Action::Destroy, _) => {
            let referrers = existing.referrers(&change.key);
            reasons.extend(list_reasons(&referrers, |by| BlockedBy::StillReferenced { by }));
        }
        (_, Some(spec)) => {
            let missing = missing(&change.key.name, spec, existing);
            reasons.extend(list_reasons(&missing, |key| BlockedBy::MissingResource { key }));
            reasons.extend(missing_platform(spec, existing));
            reasons.extend(list_reasons(&pins_without_version(&change.key.name, spec, existing), |reason| {
                reason
            }));
            reasons.extend(version_problem(&change.key.name, spec, existing));
        }
        (_, None) => {}
    }
    reasons
}

/// Whether the change waits for something that no change of its own plan brings: what it refers to, or what refers to
/// it, and that is not among what it waits for in its plan.
pub fn waits_outside_plan(change: &Change, waits_for: &[String], existing: &impl ResourceLookup) -> bool {
    let in_the_way = match (change.action(), change.after.as_deref()) {
        (Action::Destroy, _) => existing.referrers(&change.key),
        (_, Some(spec)) => missing(&change.key.name, spec, existing),
        (_, None) => Vec::new(),
    };
    in_the_way.iter().any(|key| !waits_for.contains(&key.to_string()) && !is_made(key, waits_for))
}

/// Whether a module among these makes the version.
fn is_made(key: &ResourceKey, waits_for: &[String]) -> bool {
    let module = key.name.split_once('@').filter(|_| key.kind == Kind::ModuleVersion);
    module.is_some_and(|(module, _)| waits_for.contains(&ResourceKey::new(Kind::Module, module).to_string()))
}

fn list_reasons<T: Clone>(all: &[T], reason: impl Fn(T) -> BlockedBy) -> Vec<BlockedBy> {
    let mut reasons: Vec<BlockedBy> = all.iter().take(MAX_LISTED).cloned().map(reason).collect();
    if all.len() > MAX_LISTED {
        reasons.push(BlockedBy::More { count: all.len() - MAX_LISTED });
    }
    reasons
}

/// What a spec refers to and is not there, each once.
fn missing(name: &str, spec: &Spec, existing: &impl ResourceLookup) -> Vec<ResourceKey> {
    let mut targets = spec.targets(name);
    targets.retain(|target| !existing.exists(target.kind, &target.name));
    // A missing module has no versions.
    let is_moot = |target: &ResourceKey| match target.name.split_once('@') {
        Some((module, _)) if target.kind == Kind::ModuleVersion => !existing.exists(Kind::Module, module),
        _ => false,
    };
    targets.retain(|target| !is_moot(target));
    targets
}

/// The pins that no version satisfies. A pin to a missing module is missing that module.
fn pins_without_version(name: &str, spec: &Spec, existing: &impl ResourceLookup) -> Vec<BlockedBy> {
    let mut reasons = Vec::new();
    // Without a version, an assignment may only adjust a module that the template pins.
    if matches!(spec, Spec::Assignment(assignment) if assignment.version.is_none()) {
        return reasons;
    }
    spec.pins(name, &mut |pin| {
        let is_open = pin.version().is_none()
            && existing.exists(Kind::Module, pin.module)
            && !existing.has_unnumbered(pin.module);
        if is_open {
            let state = match pin.selector {
                Selector::State(state) => *state,
                Selector::Unpinned | Selector::Exact(_) => Lifecycle::Live,
            };
            let (module, state) = (pin.module.to_owned(), state.word().to_owned());
            reasons.push(BlockedBy::NoVersion { module, state });
        }
    });
    reasons
}

/// Why a module does not make its version, or a version cannot be declared.
fn version_problem(name: &str, spec: &Spec, existing: &impl ResourceLookup) -> Option<BlockedBy> {
    match spec {
        Spec::Module(module) => {
            let version = module.version.as_ref()?;
            let made = existing.version_content(&version_name(name, version))?;
            let (module_name, number) = (name.to_owned(), version.to_string());
            (made != module.content_digest())
                .then_some(BlockedBy::VersionReused { module: module_name, version: number })
        }
        Spec::ModuleVersion(version) => {
            let is_made = version.content.is_some() && existing.exists(Kind::ModuleVersion, name);
            (!is_made).then(|| BlockedBy::VersionNotMade { name: name.to_owned() })
        }
        _ => None,
    }
}

/// A template's platform that is not in the catalogue. A platform named by id is whatever has that id.
fn missing_platform(spec: &Spec, existing: &impl ResourceLookup) -> Option<BlockedBy> {
    let Spec::Template(template) = spec else { return None };
    let platform = template.node_platform.as_ref()?;
    let is_there = existing.has_platform(platform.as_str());
    (!is_there).then(|| BlockedBy::MissingPlatform { platform: platform.to_string() })
}
