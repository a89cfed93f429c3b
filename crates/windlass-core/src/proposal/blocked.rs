//! What a change still waits for, beside approval.

use crate::blocked_by::BlockedBy;
use crate::conflict::Conflict;
use crate::diff::{Action, Change};
use crate::resource::{Kind, ResourceKey, Spec};

/// What exists at the moment, for references.
pub trait ResourceLookup {
    /// Whether the resource is accepted or comes with Windlass.
    fn exists(&self, kind: Kind, name: &str) -> bool;

    /// Whether machines of this platform can be made.
    fn has_platform(&self, name: &str) -> bool;

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
    in_the_way.iter().any(|key| !waits_for.contains(&key.to_string()))
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
    targets
}

/// A template's platform that is not in the catalogue. A platform named by id is whatever has that id.
fn missing_platform(spec: &Spec, existing: &impl ResourceLookup) -> Option<BlockedBy> {
    let Spec::Template(template) = spec else { return None };
    let platform = template.node_platform.as_ref()?;
    let is_there = existing.has_platform(platform.as_str());
    (!is_there).then(|| BlockedBy::MissingPlatform { platform: platform.to_string() })
}
