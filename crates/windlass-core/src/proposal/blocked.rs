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

/// Why the change cannot be made yet: what it refers to and is not there, or what still refers to what it destroys.
pub fn blockers(change: &Change, existing: &impl Existing) -> Vec<String> {
    match (change.action(), change.after.as_deref()) {
        (Action::Destroy, _) => existing
            .referrers(&change.key)
            .into_iter()
            .map(|key| format!("{key} still refers to it"))
            .collect(),
        (_, Some(spec)) => missing(&change.key.name, spec, existing)
            .into_iter()
            .map(|key| format!("{key} does not exist yet"))
            .collect(),
        (_, None) => Vec::new(),
    }
}

/// What a spec refers to and is not there, each once.
fn missing(name: &str, spec: &Spec, existing: &impl Existing) -> Vec<ResourceKey> {
    let mut targets = spec.targets(name);
    targets.retain(|target| !existing.exists(target.kind, &target.name));
    targets
}
