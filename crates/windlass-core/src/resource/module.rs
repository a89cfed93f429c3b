//! Modules: units of configuration for machines.

use std::collections::BTreeSet;

use super::host::HostSpec;
use super::kind::Kind;
use super::module_version_name::version_name;
use super::needs::{Reference, ResourceSpec, SpecPath};
use super::rollout::NodeRollout;
use crate::code::Code;
use crate::diagnostic::Finding;
use crate::shape::{Bounded, Decoder, FreeSettings, Segment, choice, record};
use crate::value::{FirstState, ModulePin, RepositoryPath, Version};
use crate::yaml::NodeRef;

/// The priority of a module. The range covers any scheme of tens and hundreds.
pub(crate) type Priority = Bounded<0, 1_000_000>;

choice! {
    /// What sort of module it is.
    pub enum Variety {
        /// Configuration laid over a machine.
        Config = "config",
        /// Something the machine subscribes to and follows.
        Subscription = "subscription",
        /// Bound to a single machine.
        Instance = "instance",
    }
}

choice! {
    /// What the agent does when a machine differs from what a module says.
    pub enum DriftMode {
        /// Report it. People decide what to do.
        Report = "report",
        /// Correct it at once, and report what was corrected.
        Correct = "correct",
    }
}

record! {
    /// A module is a unit of configuration: packages, files, services and kernel settings that belong together.
    /// Templates and assignments bring modules to nodes.
    pub struct ModuleSpec {
        /// What the module does, shown to reviewers.
        description: String = String::new() => "Public web server",
        /// Where two modules set the same thing, the higher priority wins.
        priority: Priority = Bounded(50) => "50",
        /// What sort of module it is.
        variety: Variety = Variety::Config => "config",
        /// The version these fields describe. Applying the module makes the version, whose content never changes: with
        /// other content, the module needs another number. A module without a version has one that is always live.
        version: Option<Version> = None => "1.26.0",
        /// The state of the version when it is made. Later it changes with `windlass module promote` or with
        /// `module_versions`.
        version_state: FirstState = FirstState::Live => "staging",
        /// Modules that must be on the machine too.
        depends_on: BTreeSet<ModulePin> = BTreeSet::new() => "[system-base@1.0.0]",
        /// Settings of the module, usable in `host` as `{{ config.name }}`. Assignments and nodes can override them.
        config: FreeSettings = FreeSettings::default() => "{nginx_workers: 4}",
        /// What the host agent makes true on the machine.
        host: Option<HostSpec> = None => "{packages: [nginx]}",
        /// What the agent does when a machine differs from what this module says.
        drift: DriftMode = DriftMode::Report => "correct",
        /// How a change of this module moves over the nodes that have it.
        rollout: Option<NodeRollout> = None => "{max_unavailable: 10%}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    check ModuleSpec::check
}

impl ModuleSpec {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let is_sound = self.version.is_some() || self.version_state == FirstState::Live;
        if !is_sound {
            let span = node.key("version_state").map_or(node.span(), NodeRef::span);
            let finding = Finding::new(Code::ConflictingKeys, span, "`version_state` needs a `version`");
            let finding = finding.help("give the module a version, or remove `version_state`");
            decoder.report_within(Segment::Key("version_state"), finding);
        }
        is_sound
    }

    /// The content of the version that the module describes: everything that decides what becomes of a machine.
    pub fn version_content(&self) -> ModuleSpec {
        ModuleSpec {
            description: String::new(),
            version_state: FirstState::Live,
            rollout: None,
            protect: false,
            ..self.clone()
        }
    }
}

impl ResourceSpec for ModuleSpec {
    fn references<'s>(&'s self, _name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        for (index, pin) in self.depends_on.iter().enumerate() {
            visit(Reference::new(Kind::Module, pin.name.as_str(), SpecPath::Item("depends_on", index)));
            if let Some(version) = pin.version() {
                let name = version_name(pin.name.as_str(), version);
                visit(Reference::new(Kind::ModuleVersion, name, SpecPath::Item("depends_on", index)));
            }
        }
    }

    fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, SpecPath)) {
        self.host
            .iter()
            .flat_map(|host| host.files.values())
            .filter_map(|file| file.source.as_ref())
            .for_each(|source| visit(source, SpecPath::Inside("host", "source")));
    }

    fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
        self.host
            .iter_mut()
            .flat_map(|host| host.files.values_mut())
            .filter_map(|file| file.source.as_mut())
            .for_each(visit);
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}
