//! Assignments: a module on one node.

use std::fmt;

use super::kind::Kind;
use super::module::Priority;
use super::module_version_name::version_name;
use super::needs::{Reference, ResourceSpec, SpecPath};
use crate::quote::quoted;
use crate::shape::{FreeSettings, InvalidText, TextValue, record};
use crate::value::{Hostname, Name, Selector, Version};

record! {
    /// An assignment, named `node:module`, puts a module on one node beside those its template brings, or adjusts one
    /// of them there.
    pub struct AssignmentSpec {
        /// Whether the module is active on the node. `false` keeps it assigned, but off.
        enabled: bool = true => "false",
        /// The priority on this node, instead of the module's own.
        priority: Option<Priority> = None => "50",
        /// The version of the module on this node: a number, or a state of which the newest is taken. Default: what the
        /// node's template says, else the newest live version.
        version: Option<Selector> = None => "1.26.0",
        /// Settings that override the module's on this node.
        config: FreeSettings = FreeSettings::default() => "{nginx_workers: 8}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
    /// The version that the assignment selects. Found when a fleet is compared, never set by a file or a request.
    carries resolved: Option<Version>,
}

impl ResourceSpec for AssignmentSpec {
    fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        if let Some((node, module)) = name.split_once(':') {
            visit(Reference::new(Kind::Node, node, SpecPath::Name));
            visit(Reference::new(Kind::Module, module, SpecPath::Name));
            let exact = self.version.as_ref().and_then(Selector::exact);
            if let Some(version) = exact.or(self.resolved.as_ref()) {
                let name = version_name(module, version);
                visit(Reference::new(Kind::ModuleVersion, name, SpecPath::Field("version")));
            }
        }
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}

/// The name of an assignment: a hostname, `:` and a module's name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssignmentName {
    node: Hostname,
    module: Name,
}

impl fmt::Display for AssignmentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.node, self.module)
    }
}

impl TextValue for AssignmentName {
    const WHAT: &'static str = "node:module";
    const PATTERN: Option<&'static str> = Some("^[a-z0-9.-]+:[A-Za-z0-9._-]+$");

    fn read(text: &str) -> Result<Self, InvalidText> {
        let complaint = || {
            InvalidText::name(format!("{} is not node:module", quoted(text)))
                .help("write the node's hostname, a colon and the module's name: `edge-tokyo-01:nginx`")
        };
        let (node, module) = text.split_once(':').ok_or_else(complaint)?;
        let node = Hostname::read(node).map_err(|_| complaint())?;
        let module = Name::read(module).map_err(|_| complaint())?;
        Ok(AssignmentName { node, module })
    }
}
