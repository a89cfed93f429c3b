//! Which modules a node has, at which versions and with which settings: template chain, dependencies, assignments.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::{Map, Value};

use super::document::{NodeDocument, NodeModule};
use super::versions::{ModuleVersion, ModuleVersions};
use crate::accepted::Accepted;
use crate::graph::Graph;
use crate::resource::{AssignmentSpec, Kind, NodeSpec, Spec, TemplateSpec};
use crate::value::{ModulePin, Name, Selector};

/// The longest chain of templates.
const MAX_TEMPLATES: usize = 64;

/// The most modules of a node, dependencies included.
pub const MAX_MODULES: usize = 1_000;

/// What a node shall be, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedNode {
    /// What it shall be.
    pub document: NodeDocument,
    /// Why each module of the document is there, in the same order.
    pub origins: Vec<ModuleOrigin>,
    /// The templates of the node, its own first.
    pub templates: Vec<String>,
    /// The module assignments of the node, by name.
    pub assignments: Vec<String>,
}

/// Why a node has a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleOrigin {
    /// A template of the node lists it.
    Template {
        /// The template.
        template: String,
        /// The pin that selects its version.
        pin: ModulePin,
    },
    /// The node's assignment adds it.
    Assignment,
    /// Another module of the node depends on it.
    Dependency {
        /// That module.
        of: String,
        /// The pin that selects its version.
        pin: ModulePin,
    },
}

impl fmt::Display for ModuleOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModuleOrigin::Template { template, pin } => write!(f, "template {template} ({pin})"),
            ModuleOrigin::Assignment => f.write_str("assignment"),
            ModuleOrigin::Dependency { of, pin } => write!(f, "dependency of module {of} ({pin})"),
        }
    }
}

/// Why it cannot be said what a node shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeProblem {
    /// There is no such node.
    NoNode(String),
    /// There is no such template.
    NoTemplate(String),
    /// Templates extend each other in a circle, or the chain is too long.
    TemplateChain(String),
    /// A pin selects no version.
    NoVersion {
        /// The pin.
        pin: Box<ModulePin>,
        /// What pins it.
        by: String,
        /// The versions that there are, each with its state.
        known: Vec<String>,
    },
    /// Two pins ask for different versions of one module.
    TwoVersions {
        /// The module.
        module: String,
        /// The version that the node has.
        has: String,
        /// The pin that asks for another one.
        wants: Box<ModulePin>,
        /// The module with that pin.
        by: String,
    },
    /// Modules depend on each other in a circle.
    DependencyCircle(Vec<String>),
    /// The node has more than 1,000 modules.
    TooManyModules,
}

impl fmt::Display for NodeProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NodeProblem::NoNode(node) => write!(f, "there is no node {node}"),
            NodeProblem::NoTemplate(template) => write!(f, "the template {template} does not exist yet"),
            NodeProblem::TemplateChain(template) => {
                write!(f, "the template {template} extends itself, or more than {MAX_TEMPLATES} templates")
            }
            NodeProblem::NoVersion { pin, by, known } if known.is_empty() => {
                write!(f, "{by} needs {pin}, and the module has no version")
            }
            NodeProblem::NoVersion { pin, by, known } => {
                write!(f, "{by} needs {pin}, and there are only {}", known.join(", "))
            }
            NodeProblem::TwoVersions { module, has, wants, by } => {
                write!(f, "the node has {module} {has}, and module {by} needs {wants}")
            }
            NodeProblem::DependencyCircle(modules) => {
                write!(f, "modules depend on each other in a circle: {}", modules.join(" → "))
            }
            NodeProblem::TooManyModules => write!(f, "the node has more than {MAX_MODULES} modules"),
        }
    }
}

/// Resolves the nodes of one accepted state. The modules of each template are looked up once.
pub struct NodeResolver<'a> {
    accepted: &'a Accepted,
    versions: &'a ModuleVersions,
    templates: BTreeMap<String, Result<TemplateModules, NodeProblem>>,
    assignments: BTreeMap<&'a str, Vec<(&'a str, &'a AssignmentSpec)>>,
}

/// What the nodes of a template have in common.
#[derive(Clone, Debug, Default)]
struct TemplateModules {
    /// The template and those that it extends.
    chain: Vec<String>,
    platform: Option<Name>,
    architecture: Option<Name>,
    /// In the order in which they are layered, each with the template that lists it.
    modules: Vec<(ModulePin, String)>,
}

impl<'a> NodeResolver<'a> {
    /// A resolver for an accepted state.
    pub fn new(accepted: &'a Accepted, versions: &'a ModuleVersions) -> NodeResolver<'a> {
        let mut assignments: BTreeMap<&str, Vec<(&str, &AssignmentSpec)>> = BTreeMap::new();
        for (name, accepted) in accepted.resources.of_kind(Kind::Assignment) {
            if let (Spec::Assignment(spec), Some((node, module))) =
                (accepted.spec.as_ref(), name.split_once(':'))
            {
                assignments.entry(node).or_default().push((module, spec));
            }
        }
        NodeResolver { accepted, versions, templates: BTreeMap::new(), assignments }
    }

    /// What a node shall be.
    pub fn resolve(&mut self, node: &str) -> Result<ResolvedNode, NodeProblem> {
        let Some(Spec::Node(spec)) =
            self.accepted.resources.get(Kind::Node, node).map(|one| one.spec.as_ref())
        else {
            return Err(NodeProblem::NoNode(node.to_owned()));
        };
        let template = self.template(spec.template.as_str())?;
        let assignments = self.assignments.get(node).map_or(&[][..], Vec::as_slice);
        let mut chosen = ChosenModules::new(self.versions);
        let is_off = |name: &str| assignments.iter().any(|(module, spec)| *module == name && !spec.enabled);
        let has_version =
            |name: &str| assignments.iter().any(|(module, spec)| *module == name && spec.version.is_some());
        for (pin, listed_by) in template.modules.iter().filter(|(pin, _)| !is_off(pin.name.as_str())) {
            if has_version(pin.name.as_str()) {
                continue;
            }
            let origin = ModuleOrigin::Template { template: listed_by.clone(), pin: pin.clone() };
            chosen.add(pin, format!("template {listed_by}"), origin)?;
        }
        for (module, spec) in assignments.iter().filter(|(_, spec)| spec.enabled) {
            chosen.add_assigned(module, spec)?;
        }
        chosen.add_dependencies()?;
        let facts = node_facts(node, spec, &template);
        let mut resolved = chosen.into_node(facts, spec, assignments)?;
        resolved.templates = template.chain;
        resolved.assignments = assignments.iter().map(|(module, _)| format!("{node}:{module}")).collect();
        Ok(resolved)
    }

    fn template(&mut self, name: &str) -> Result<TemplateModules, NodeProblem> {
        if let Some(known) = self.templates.get(name) {
            return known.clone();
        }
        let found = self.template_chain(name);
        self.templates.insert(name.to_owned(), found.clone());
        found
    }

    /// Modules of parents come first; a template that lists a module of its parent changes the pin.
    fn template_chain(&self, name: &str) -> Result<TemplateModules, NodeProblem> {
        let mut chain: Vec<(&str, &TemplateSpec)> = Vec::new();
        let mut next = Some(name);
        while let Some(name) = next {
            let accepted = self.accepted.resources.get(Kind::Template, name).map(|one| one.spec.as_ref());
            let Some(Spec::Template(spec)) = accepted else {
                return Err(NodeProblem::NoTemplate(name.to_owned()));
            };
            if chain.len() == MAX_TEMPLATES || chain.iter().any(|(seen, _)| *seen == name) {
                return Err(NodeProblem::TemplateChain(name.to_owned()));
            }
            chain.push((name, spec));
            next = spec.extends.as_ref().map(Name::as_str);
        }
        let names = chain.iter().map(|(name, _)| (*name).to_owned());
        let mut found = TemplateModules { chain: names.collect(), ..TemplateModules::default() };
        for (template, spec) in chain.iter().rev() {
            found.platform = spec.node_platform.clone().or(found.platform);
            found.architecture = spec.architecture.clone().or(found.architecture);
            for pin in &spec.modules {
                let entry = (pin.clone(), (*template).to_owned());
                match found.modules.iter_mut().find(|(listed, _)| listed.name == pin.name) {
                    Some(listed) => *listed = entry,
                    None => found.modules.push(entry),
                }
            }
        }
        Ok(found)
    }
}

/// What texts can use as `node.x`.
fn node_facts(node: &str, spec: &NodeSpec, template: &TemplateModules) -> Map<String, Value> {
    let labels: Map<String, Value> =
        spec.labels.iter().map(|(key, value)| (key.to_string(), Value::from(value.to_string()))).collect();
    let facts = [
        ("hostname", Some(Value::from(node))),
        ("template", Some(Value::from(spec.template.as_str()))),
        ("region", spec.region.as_deref().map(Value::from)),
        ("instance_type", spec.instance_type.as_deref().map(Value::from)),
        ("platform", template.platform.as_ref().map(|name| Value::from(name.as_str()))),
        ("architecture", template.architecture.as_ref().map(|name| Value::from(name.as_str()))),
        ("labels", (!labels.is_empty()).then_some(Value::Object(labels))),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// The modules of a node while they are being found.
struct ChosenModules<'v> {
    versions: &'v ModuleVersions,
    modules: Vec<(String, &'v ModuleVersion, ModuleOrigin)>,
    index: BTreeMap<String, usize>,
}

impl<'v> ChosenModules<'v> {
    fn new(versions: &'v ModuleVersions) -> ChosenModules<'v> {
        ChosenModules { versions, modules: Vec::new(), index: BTreeMap::new() }
    }

    fn add(&mut self, pin: &ModulePin, by: String, origin: ModuleOrigin) -> Result<(), NodeProblem> {
        let name = pin.name.to_string();
        let Some(version) = self.versions.select(pin) else {
            let known = self.versions.versions_of(&name).iter().map(version_and_state).collect();
            return Err(NodeProblem::NoVersion { pin: Box::new(pin.clone()), by, known });
        };
        if self.modules.len() == MAX_MODULES {
            return Err(NodeProblem::TooManyModules);
        }
        self.index.insert(name.clone(), self.modules.len());
        self.modules.push((name, version, origin));
        Ok(())
    }

    /// Adds the module of an assignment, unless a template lists it and the assignment has no version: then it only adjusts
    /// it.
    fn add_assigned(&mut self, module: &str, spec: &AssignmentSpec) -> Result<(), NodeProblem> {
        if self.index.contains_key(module) {
            return Ok(());
        }
        let Ok(name) = crate::shape::TextValue::read(module) else { return Ok(()) };
        let mut pin = ModulePin::new(name, spec.version.clone().unwrap_or(Selector::Unpinned));
        pin.set_resolved(spec.resolved.clone());
        self.add(&pin, "the assignment".to_owned(), ModuleOrigin::Assignment)
    }

    fn add_dependencies(&mut self) -> Result<(), NodeProblem> {
        let mut next = 0;
        while next < self.modules.len() {
            let (of, version, _) = &self.modules[next];
            let (of, spec) = (of.clone(), version.spec.clone());
            for pin in &spec.depends_on {
                match self.index.get(pin.name.as_str()) {
                    Some(present) => self.check_version(&of, pin, *present)?,
                    None => {
                        let origin = ModuleOrigin::Dependency { of: of.clone(), pin: pin.clone() };
                        self.add(pin, format!("module {of}"), origin)?;
                    }
                }
            }
            next += 1;
        }
        Ok(())
    }

    /// An exact pin of a dependency must be the version that the node has. Other pins take what is there.
    fn check_version(&self, of: &str, pin: &ModulePin, present: usize) -> Result<(), NodeProblem> {
        let (module, version, _) = &self.modules[present];
        match &pin.selector {
            Selector::Exact(exact) if version.version.as_ref() != Some(exact) => {
                Err(NodeProblem::TwoVersions {
                    module: module.clone(),
                    has: version.version.as_ref().map_or("without a version".to_owned(), ToString::to_string),
                    wants: Box::new(pin.clone()),
                    by: of.to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    fn into_node(
        self,
        facts: Map<String, Value>,
        spec: &NodeSpec,
        assignments: &[(&str, &AssignmentSpec)],
    ) -> Result<ResolvedNode, NodeProblem> {
        let order = self.order()?;
        let mut node = ResolvedNode {
            document: NodeDocument { node: facts, config: settings(&spec.config.0), modules: Vec::new() },
            origins: Vec::new(),
            templates: Vec::new(),
            assignments: Vec::new(),
        };
        for index in order {
            let (name, version, origin) = &self.modules[index];
            let assigned = assignments.iter().find(|(module, _)| module == name).map(|(_, spec)| *spec);
            let priority = assigned.and_then(|spec| spec.priority).unwrap_or(version.spec.priority);
            let depends_on: BTreeSet<&str> =
                version.spec.depends_on.iter().map(|pin| pin.name.as_str()).collect();
            node.document.modules.push(NodeModule {
                name: name.clone(),
                version: version.version.as_ref().map(ToString::to_string),
                package: version.package,
                priority: priority.0,
                depends_on: depends_on.into_iter().map(str::to_owned).collect(),
                config: assigned.map(|spec| settings(&spec.config.0)).unwrap_or_default(),
            });
            node.origins.push(origin.clone());
        }
        Ok(node)
    }

    /// Every module after those that it depends on; otherwise in the order in which they are layered.
    fn order(&self) -> Result<Vec<usize>, NodeProblem> {
        let mut graph = Graph::new(self.modules.len());
        for (index, (_, version, _)) in self.modules.iter().enumerate() {
            let dependencies =
                version.spec.depends_on.iter().filter_map(|pin| self.index.get(pin.name.as_str()));
            dependencies.for_each(|dependency| graph.add_edge(*dependency, index));
        }
        graph.sort().map_err(|circles| {
            let circle = circles.into_iter().next().unwrap_or_default();
            NodeProblem::DependencyCircle(
                circle.into_iter().map(|index| self.modules[index].0.clone()).collect(),
            )
        })
    }
}

fn settings(config: &BTreeMap<String, Value>) -> Map<String, Value> {
    config.iter().map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn version_and_state(version: &ModuleVersion) -> String {
    let number = version.version.as_ref().map_or("without a version".to_owned(), ToString::to_string);
    format!("{number} ({})", version.state.word())
}

#[cfg(test)]
#[path = "resolve_tests.rs"]
mod tests;
