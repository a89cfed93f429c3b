//! What a change still waits for.

use crate::diff::{Action, Change};
use crate::resource::{Kind, ResourceKey, Spec};

/// What exists at the moment, for references.
pub trait Existing {
    /// Whether the resource is live or comes with Windlass.
    fn exists(&self, kind: Kind, name: &str) -> bool;

    /// Live resources that refer to this one.
    fn referrers(&self, key: &ResourceKey) -> Vec<ResourceKey>;
}

/// Reasons of one sort that are told; of the others only how many there are.
const TOLD: usize = 10;

/// Why the change cannot be made yet: what it refers to and is not there, or what still refers to what it destroys.
pub fn blockers(change: &Change, existing: &impl Existing) -> Vec<String> {
    match (change.action(), change.after.as_deref()) {
        (Action::Destroy, _) => told(&existing.referrers(&change.key), "still refers to it"),
        (_, Some(spec)) => told(&missing(&change.key.name, spec, existing), "does not exist yet"),
        (_, None) => Vec::new(),
    }
}

fn told(keys: &[ResourceKey], what: &str) -> Vec<String> {
    let mut reasons: Vec<String> = keys.iter().take(TOLD).map(|key| format!("{key} {what}")).collect();
    if keys.len() > TOLD {
        reasons.push(format!("the same of {} more", keys.len() - TOLD));
    }
    reasons
}

/// What a spec refers to and is not there, each once.
fn missing(name: &str, spec: &Spec, existing: &impl Existing) -> Vec<ResourceKey> {
    let mut targets = spec.targets(name);
    targets.retain(|target| !existing.exists(target.kind, &target.name));
    targets
}
