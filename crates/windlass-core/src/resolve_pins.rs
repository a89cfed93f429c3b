//! Finds the module versions that the pins of a fleet select, and the content of the versions that it declares.
//!
//! A pin selects among the versions that exist, and among those that the fleet's own modules make when they are applied:
//! one plan can bring a module and the template that follows it.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::desired::Desired;
use crate::known::KnownModules;
use crate::resource::{Kind, ModuleSpec, ModuleVersionSpec, Pin, ResourceKey, Spec};
use crate::value::Name;

/// The longest chain of templates that is followed.
const MAX_TEMPLATES: usize = 64;

impl Desired {
    /// Sets the version of every pin and the content of every declared version. Returns how many resources that changed.
    pub fn resolve_pins(&mut self, existing: &KnownModules) -> usize {
        let known = self.with_declared_modules(existing);
        let modules = self.resolve_some(&known, |kind| kind == Kind::Module);
        // The versions of dependencies are part of what a module makes.
        let known = self.with_declared_modules(existing);
        modules + self.resolve_some(&known, |kind| kind != Kind::Module)
    }

    fn resolve_some(&mut self, known: &KnownModules, is_meant: impl Fn(Kind) -> bool) -> usize {
        let mut changed: Vec<(ResourceKey, Spec)> = Vec::new();
        for (kind, name, declared) in self.resources.iter().filter(|(kind, _, _)| is_meant(*kind)) {
            let resolved = match declared.spec.as_ref() {
                Spec::ModuleVersion(version) => with_content(version, known.content(name)),
                spec => self.resolved(known, name, spec),
            };
            changed.extend(resolved.map(|spec| (ResourceKey::new(kind, name), spec)));
        }
        let count = changed.len();
        for (key, spec) in changed {
            if let Some(declared) = self.resources.get_mut(key.kind, &key.name) {
                declared.replace_spec(spec);
            }
        }
        count
    }

    /// What exists once the modules of the fleet are applied.
    fn with_declared_modules(&self, existing: &KnownModules) -> KnownModules {
        let mut known = existing.clone();
        for (name, declared) in self.resources.of_kind(Kind::Module) {
            if let Spec::Module(module) = declared.spec.as_ref() {
                known.replace_module(name, module);
            }
        }
        known
    }

    /// The spec with the versions that its pins select; none if it has them already.
    fn resolved(&self, known: &KnownModules, name: &str, spec: &Spec) -> Option<Spec> {
        let mut is_same = true;
        let version_of = |pin: &Pin<'_>| {
            let is_needed = pin.is_floating() && !self.is_pinned_by_template(name, spec);
            is_needed.then(|| known.select(pin.module, pin.selector)).flatten()
        };
        spec.pins(name, &mut |pin| is_same &= pin.resolved == version_of(&pin));
        (!is_same).then(|| spec.with_versions(name, |pin| version_of(pin).cloned()))
    }

    /// Whether an assignment without a version only adjusts a module that the node's template lists. The template's pin
    /// decides then.
    fn is_pinned_by_template(&self, name: &str, spec: &Spec) -> bool {
        let (Spec::Assignment(assignment), Some((node, module))) = (spec, name.split_once(':')) else {
            return false;
        };
        let node = self.resources.get(Kind::Node, node).map(|declared| declared.spec.as_ref());
        let Some(Spec::Node(node)) = node.filter(|_| assignment.version.is_none()) else { return false };
        let mut next: Option<&Name> = Some(&node.template);
        let mut seen = BTreeSet::new();
        while let Some(name) = next {
            let template = self.resources.get(Kind::Template, name.as_str());
            let Some(Spec::Template(template)) = template.map(|declared| declared.spec.as_ref()) else {
                return false;
            };
            if template.modules.iter().any(|pin| pin.name.as_str() == module) {
                return true;
            }
            next = template.extends.as_ref().filter(|_| seen.insert(name) && seen.len() < MAX_TEMPLATES);
        }
        false
    }
}

/// The version with this content; none if it has it already.
fn with_content(version: &ModuleVersionSpec, content: Option<&Arc<ModuleSpec>>) -> Option<Spec> {
    (version.content.as_ref() != content)
        .then(|| Spec::ModuleVersion(ModuleVersionSpec { content: content.cloned(), ..version.clone() }))
}

impl Spec {
    /// The spec that someone wrote, with the versions that its pins select: those that `before` has for the same pins, so
    /// that an unrelated change does not move them, else those that exist now.
    pub fn with_versions_of(&self, name: &str, before: &[&Spec], existing: &KnownModules) -> Spec {
        let kept = before.iter().map(|spec| spec.resolved_versions()).collect::<Vec<_>>();
        // An assignment that had no version of its own only adjusts a module that the template pins.
        let adjusts = |spec: &Spec| matches!(spec, Spec::Assignment(it) if it.version.is_none() && it.resolved.is_none());
        if before.first().is_some_and(|before| adjusts(before) && adjusts(self)) {
            return self.clone();
        }
        let mut spec = self.with_versions(name, |pin| {
            let key = (pin.field, pin.text.clone());
            let kept = kept.iter().find_map(|versions| versions.get(&key).copied());
            kept.or_else(|| existing.select(pin.module, pin.selector)).cloned()
        });
        if let Spec::ModuleVersion(version) = &mut spec {
            version.content = existing.content(name).map(Arc::clone);
        }
        spec
    }
}

#[cfg(test)]
#[path = "resolve_pins_tests.rs"]
mod tests;
