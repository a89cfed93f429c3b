//! Templates: what a machine is made of.

use std::collections::BTreeSet;

use super::kind::Kind;
use super::module_version_name::version_name;
use super::needs::{Reference, ResourceSpec, SpecPath};
use super::rollout::NodeRollout;
use crate::diagnostic::{Code, Finding};
use crate::quote::quoted;
use crate::shape::{Decoder, FreeSettings, Segment, record};
use crate::value::{ModulePin, Name};
use crate::yaml::NodeRef;

record! {
    /// A template says which platform a machine runs and which modules make it up. Nodes are built from templates.
    pub struct TemplateSpec {
        /// What the template is for, shown to reviewers.
        description: String = String::new() => "Standard nginx node",
        /// The platform by name. A template needs this, `node_platform_id`, or a parent that has one.
        node_platform: Option<Name> = None => "ubuntu-24.04-amd64",
        /// The platform by id, instead of by name.
        node_platform_id: Option<String> = None => "0b9c1f9e-5d0f-4a55-9a0e-2f1f3a6d7c11",
        /// The processor architecture, where the platform's name does not say it.
        architecture: Option<Name> = None => "amd64",
        /// The template this one builds on. Platform, architecture and modules are inherited; modules given here are
        /// added, and win where the parent has the same module.
        extends: Option<Name> = None => "edge-base",
        /// Modules in the order they are layered, each pinned to a version (`nginx@1.26.0`) or to the newest version
        /// in a lifecycle state (`nginx@live`).
        modules: Vec<ModulePin> = Vec::new() => "[system-base@1.0.0, nginx@live]",
        /// Free-form facts about the template; never interpreted.
        metadata: FreeSettings = FreeSettings::default() => "{purpose: edge-cdn}",
        /// How a change of this template moves over its nodes.
        rollout: Option<NodeRollout> = None => "{max_unavailable: 10%}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    check TemplateSpec::check
}

impl TemplateSpec {
    fn check<'t>(&self, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> bool {
        let one_platform = self.node_platform.is_none() || self.node_platform_id.is_none();
        if !one_platform {
            let span = node.key("node_platform_id").map_or(node.span(), NodeRef::span);
            let message = "`node_platform` and `node_platform_id` cannot be used together";
            let finding = Finding::new(Code::ConflictingKeys, span, message).help("keep one of them");
            decoder.report_within(Segment::Key("node_platform_id"), finding);
        }
        let mut seen = BTreeSet::new();
        let doubled = self.modules.iter().position(|pin| !seen.insert(pin.name.as_str()));
        if let Some(index) = doubled {
            let item = node.get("modules").and_then(|modules| modules.item(index));
            let message = format!(
                "the module {} is listed twice in this template",
                quoted(self.modules[index].name.as_str())
            );
            let finding = Finding::new(Code::BadValue, item.unwrap_or(node).span(), message);
            decoder.within(Segment::Key("modules"), |decoder| {
                decoder.report_within(Segment::Index(index), finding.help("keep one of the two"));
            });
        }
        one_platform && doubled.is_none()
    }
}

impl ResourceSpec for TemplateSpec {
    fn references<'s>(&'s self, _name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        if let Some(parent) = &self.extends {
            visit(Reference::new(Kind::Template, parent.as_str(), SpecPath::Field("extends")));
        }
        for (index, pin) in self.modules.iter().enumerate() {
            visit(Reference::new(Kind::Module, pin.name.as_str(), SpecPath::Item("modules", index)));
            if let Some(version) = pin.version() {
                let name = version_name(pin.name.as_str(), version);
                visit(Reference::new(Kind::ModuleVersion, name, SpecPath::Item("modules", index)));
            }
        }
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}
