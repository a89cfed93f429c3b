//! Nodes: machines.

use super::kind::Kind;
use super::needs::{Reference, ResourceSpec, SpecPath};
use crate::shape::{FreeSettings, choice, record};
use crate::value::{Labels, Name};

choice! {
    /// How long a machine is meant to live.
    pub enum LifecycleClass {
        /// Kept until it is removed from git.
        Persistent = "persistent",
        /// May be replaced at any time.
        Ephemeral = "ephemeral",
        /// Cheap capacity the provider may take away.
        Spot = "spot",
    }
}

record! {
    /// A node is one machine, built from a template.
    pub struct NodeSpec {
        /// The template the machine is built from.
        template: Name => "edge-cdn",
        /// Where it runs. Free text unless a provider lists its regions.
        region: Option<String> = None => "ap-tokyo-1",
        /// How large it is. Free text unless a provider lists its types.
        instance_type: Option<String> = None => "t3-medium",
        /// How long it is meant to live.
        lifecycle_class: LifecycleClass = LifecycleClass::Persistent => "persistent",
        /// Labels, for policies, selectors and searching.
        labels: Labels = Labels::new() => "{tier: edge}",
        /// Settings that override those of the node's modules.
        config: FreeSettings = FreeSettings::default() => "{nginx_workers: 8}",
        /// Refuse to destroy this resource.
        protect: bool = false => "true",
    }
}

impl ResourceSpec for NodeSpec {
    fn references<'s>(&'s self, _name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
        visit(Reference::new(Kind::Template, self.template.as_str(), SpecPath::Field("template")));
    }

    fn is_protected(&self) -> bool {
        self.protect
    }
}
