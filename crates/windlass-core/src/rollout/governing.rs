//! Which rollout a change of a node follows.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::accepted::Accepted;
use crate::host::{NodeDocument, NodeModule};
use crate::resource::{Kind, NodeRollout, ResourceKey, Spec};

/// The longest chain of templates, as the resolver of nodes has it.
const MAX_TEMPLATES: usize = 64;

/// What says how a change moves over nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Governing {
    /// The template or the module.
    pub resource: ResourceKey,
    /// What it says.
    pub rollout: NodeRollout,
}

/// The rollouts that the templates and modules of an account declare. Nodes of one template share what it says.
#[derive(Debug)]
pub struct GoverningRollouts<'a> {
    accepted: &'a Accepted,
    templates: BTreeMap<String, Option<Arc<Governing>>>,
    modules: BTreeMap<String, Arc<Governing>>,
}

impl<'a> GoverningRollouts<'a> {
    /// The rollouts of an accepted state.
    pub fn new(accepted: &'a Accepted) -> GoverningRollouts<'a> {
        let modules = accepted.resources.of_kind(Kind::Module);
        let modules = modules
            .filter_map(|(name, _)| {
                Some((name.to_owned(), Arc::new(rollout_of(accepted, Kind::Module, name)?)))
            })
            .collect();
        GoverningRollouts { accepted, templates: BTreeMap::new(), modules }
    }

    /// The rollout of a template, or of the nearest template that it extends. A template knows its nodes as a whole, so
    /// it governs a change before any module does.
    pub fn of_template(&mut self, template: &str) -> Option<Arc<Governing>> {
        if let Some(known) = self.templates.get(template) {
            return known.clone();
        }
        let found = template_rollout(self.accepted, template).map(Arc::new);
        self.templates.insert(template.to_owned(), found.clone());
        found
    }

    /// Whether any module declares a rollout: if none does, nobody needs to compare documents.
    pub fn has_modules(&self) -> bool {
        !self.modules.is_empty()
    }

    /// The rollout of the modules that change on a node: of those with a rollout, the one with the highest priority.
    pub fn of_modules(&self, before: &NodeDocument, after: &NodeDocument) -> Option<Arc<Governing>> {
        let mut changed = changed_modules(before, after);
        changed
            .sort_by(|one, other| other.priority.cmp(&one.priority).then_with(|| one.name.cmp(&other.name)));
        changed.into_iter().find_map(|module| self.modules.get(&module.name).cloned())
    }
}

fn template_rollout(accepted: &Accepted, template: &str) -> Option<Governing> {
    let mut next = Some(template.to_owned());
    for _ in 0..MAX_TEMPLATES {
        let name = next?;
        if let Some(found) = rollout_of(accepted, Kind::Template, &name) {
            return Some(found);
        }
        let Some(Spec::Template(spec)) =
            accepted.resources.get(Kind::Template, &name).map(|one| one.spec.as_ref())
        else {
            return None;
        };
        next = spec.extends.as_ref().map(ToString::to_string);
    }
    None
}

fn rollout_of(accepted: &Accepted, kind: Kind, name: &str) -> Option<Governing> {
    let rollout = match accepted.resources.get(kind, name)?.spec.as_ref() {
        Spec::Template(spec) => spec.rollout.clone(),
        Spec::Module(spec) => spec.rollout.clone(),
        _ => None,
    };
    Some(Governing { resource: ResourceKey::new(kind, name), rollout: rollout? })
}

/// The modules that are new, gone or different. Settings of the node count for every module that it has.
fn changed_modules<'d>(before: &'d NodeDocument, after: &'d NodeDocument) -> Vec<&'d NodeModule> {
    let by_name = |document: &'d NodeDocument| -> BTreeMap<&'d str, &'d NodeModule> {
        document.modules.iter().map(|module| (module.name.as_str(), module)).collect()
    };
    let (old, new) = (by_name(before), by_name(after));
    let same_values = before.config == after.config && before.node == after.node;
    let changed = new
        .iter()
        .filter(|(name, module)| !same_values || old.get(*name) != Some(module))
        .map(|(_, module)| *module);
    let gone = old.iter().filter(|(name, _)| !new.contains_key(*name)).map(|(_, module)| *module);
    changed.chain(gone).collect()
}

#[cfg(test)]
#[path = "governing_tests.rs"]
mod tests;
