//! A node's document and its module packages → every item of the node, in order.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::document::{NodeDocument, NodeModule};
use super::item::{DesiredFile, FileContent, HostItem, HostItemId, ItemFromModule};
use super::package::{BlobDigest, ModulePackage};
use super::template::{TemplateProblem, TemplateValues, fill};
use crate::resource::{HostFile, HostSpec};

/// Everything that an agent makes true on a machine, in the order in which it does so: module by module, and of each
/// module first packages, then accounts, directories, files and links, kernel settings, services, and timers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostState {
    /// The items.
    pub items: Vec<ItemFromModule>,
}

/// Why a node cannot be what its modules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostProblem {
    /// The content of a module is not at hand.
    PackageMissing {
        /// The module.
        module: String,
        /// The digest of its package.
        package: BlobDigest,
    },
    /// A text cannot be filled.
    Template {
        /// The module.
        module: String,
        /// The item with the text.
        item: HostItemId,
        /// What is wrong.
        problem: TemplateProblem,
    },
    /// Two modules of the same priority, neither of which depends on the other, set one item differently.
    SetTwice {
        /// The item.
        item: HostItemId,
        /// The two modules.
        modules: (String, String),
        /// Their priority.
        priority: i64,
    },
}

impl fmt::Display for HostProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostProblem::PackageMissing { module, package } => {
                write!(f, "the content of module {module} ({package}) is missing")
            }
            HostProblem::Template { module, item, problem } => {
                write!(f, "module {module}, {item}: {problem}")
            }
            HostProblem::SetTwice { item, modules: (one, other), priority } => write!(
                f,
                "the modules {one} and {other} both set {item}, with the same priority {priority}: raise the priority of one, \
                 or let it depend on the other"
            ),
        }
    }
}

impl HostState {
    /// Puts a node's document and the packages of its modules together. All problems are found at once; a node with a
    /// problem has no state.
    pub fn compose(
        document: &NodeDocument,
        packages: &BTreeMap<BlobDigest, ModulePackage>,
    ) -> Result<HostState, Vec<HostProblem>> {
        let mut problems = Vec::new();
        let mut items: Vec<ItemFromModule> = Vec::new();
        for (index, module) in document.modules.iter().enumerate() {
            let Some(package) = packages.get(&module.package) else {
                let (module, package) = (module.name.clone(), module.package);
                problems.push(HostProblem::PackageMissing { module, package });
                continue;
            };
            let values = document.values_of(&package.spec.config.0, module);
            let mut listed =
                ModuleItems { module, package, values, items: Vec::new(), problems: &mut problems };
            if let Some(host) = &package.spec.host {
                listed.add_all(host);
            }
            let drift = package.spec.drift;
            items.extend(listed.items.into_iter().map(|item| ItemFromModule { item, module: index, drift }));
        }
        let items = without_overridden(document, items, &mut problems);
        if problems.is_empty() { Ok(HostState { items }) } else { Err(problems) }
    }
}

/// The items of one module.
struct ModuleItems<'c> {
    module: &'c NodeModule,
    package: &'c ModulePackage,
    values: TemplateValues,
    items: Vec<HostItem>,
    problems: &'c mut Vec<HostProblem>,
}

impl ModuleItems<'_> {
    fn add_all(&mut self, host: &HostSpec) {
        self.items.extend(host.packages.iter().cloned().map(HostItem::Package));
        self.items.extend(host.hold.iter().cloned().map(HostItem::Hold));
        let named = |(name, spec): (&_, &_)| HostItem::Group(Clone::clone(name), Clone::clone(spec));
        self.items.extend(host.groups.iter().map(named));
        self.items.extend(host.users.iter().map(|(name, spec)| HostItem::User(name.clone(), spec.clone())));
        let directories = host.directories.iter();
        self.items.extend(directories.map(|(path, spec)| HostItem::Directory(path.clone(), spec.clone())));
        for (path, file) in &host.files {
            let id = HostItemId { kind: "path", name: path.to_string() };
            if let Some(file) = self.desired_file(id, file) {
                self.items.push(HostItem::File(path.clone(), file));
            }
        }
        self.items.extend(host.links.iter().map(|(path, spec)| HostItem::Link(path.clone(), spec.clone())));
        for (name, value) in &host.sysctl {
            let id = HostItemId { kind: "sysctl", name: name.to_string() };
            if let Some(value) = self.filled(id, &setting_text(value)) {
                self.items.push(HostItem::Sysctl(name.clone(), value));
            }
        }
        self.items
            .extend(host.services.iter().map(|(name, spec)| HostItem::Service(name.clone(), spec.clone())));
        for (name, timer) in &host.timers {
            let id = HostItemId { kind: "timer", name: name.to_string() };
            if let Some(command) = self.filled(id, &timer.command) {
                let mut timer = timer.clone();
                timer.command = command;
                self.items.push(HostItem::Timer(name.clone(), timer));
            }
        }
    }

    fn desired_file(&mut self, id: HostItemId, file: &HostFile) -> Option<DesiredFile> {
        let content = match (&file.content, &file.source) {
            (Some(text), _) => FileContent::Text(self.filled(id, text)?),
            (None, Some(source)) => {
                // A package without a file that its spec names is not read, so this is always found.
                let blob = *self.package.files.get(source.as_str())?;
                match file.template {
                    true => FileContent::FilledBlob(blob, Box::new(self.values.clone())),
                    false => FileContent::Blob(blob),
                }
            }
            (None, None) => return None,
        };
        Some(DesiredFile {
            content,
            mode: file.mode,
            owner: file.owner.clone(),
            group: file.group.clone(),
            validate: file.validate.clone(),
        })
    }

    fn filled(&mut self, item: HostItemId, text: &str) -> Option<String> {
        match fill(text, &self.values) {
            Ok(filled) => Some(filled),
            Err(problem) => {
                let module = self.module.name.clone();
                self.problems.push(HostProblem::Template { module, item, problem });
                None
            }
        }
    }
}

fn setting_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(yes) => i32::from(*yes).to_string(),
        other => other.to_string(),
    }
}

/// Leaves out items that a module of higher priority sets too.
fn without_overridden(
    document: &NodeDocument,
    items: Vec<ItemFromModule>,
    problems: &mut Vec<HostProblem>,
) -> Vec<ItemFromModule> {
    let layers = Layers::of(document);
    let mut winners: BTreeMap<HostItemId, usize> = BTreeMap::new();
    for (index, candidate) in items.iter().enumerate() {
        let id = candidate.item.id();
        let Some(winner) = winners.get(&id).copied() else {
            winners.insert(id, index);
            continue;
        };
        match layers.wins(candidate.module, items[winner].module) {
            Some(true) => {
                winners.insert(id, index);
            }
            Some(false) => {}
            None if candidate.item == items[winner].item => {}
            None => {
                let module = |index: usize| document.modules[index].name.clone();
                let modules = (module(items[winner].module), module(candidate.module));
                let priority = document.modules[candidate.module].priority;
                problems.push(HostProblem::SetTwice { item: id, modules, priority });
            }
        }
    }
    let kept: BTreeSet<usize> = winners.into_values().collect();
    items.into_iter().enumerate().filter(|(index, _)| kept.contains(index)).map(|(_, item)| item).collect()
}

/// Which module wins where two set the same thing.
struct Layers<'d> {
    document: &'d NodeDocument,
    /// Of each module, the modules below it: those that it depends on, directly or not.
    below: Vec<BTreeSet<usize>>,
}

impl Layers<'_> {
    fn of(document: &NodeDocument) -> Layers<'_> {
        let index_of: BTreeMap<&str, usize> = document
            .modules
            .iter()
            .enumerate()
            .map(|(index, module)| (module.name.as_str(), index))
            .collect();
        let mut below: Vec<BTreeSet<usize>> = Vec::with_capacity(document.modules.len());
        // A module stands after those that it depends on, so theirs are known.
        for (index, module) in document.modules.iter().enumerate() {
            let mut under = BTreeSet::new();
            for dependency in &module.depends_on {
                if let Some(dependency) = index_of.get(dependency.as_str()).copied().filter(|at| *at < index)
                {
                    under.insert(dependency);
                    under.extend(below[dependency].iter().copied());
                }
            }
            below.push(under);
        }
        Layers { document, below }
    }

    /// Whether the first module wins over the second; `None` if neither does.
    fn wins(&self, one: usize, other: usize) -> Option<bool> {
        let priority = |module: usize| self.document.modules[module].priority;
        if priority(one) != priority(other) {
            return Some(priority(one) > priority(other));
        }
        if self.below[one].contains(&other) {
            return Some(true);
        }
        self.below[other].contains(&one).then_some(false)
    }
}

#[cfg(test)]
#[path = "compose_tests.rs"]
mod tests;
