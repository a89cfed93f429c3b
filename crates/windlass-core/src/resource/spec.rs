//! The spec of a resource of any kind.

use serde_json::Value;

use super::assignment::AssignmentSpec;
use super::bundle::BundleSpec;
use super::cluster::{ClusterGroupSpec, ClusterSpec};
use super::federation::FederationPeerSpec;
use super::key::ResourceKey;
use super::kind::{Kind, kinds};
use super::module::ModuleSpec;
use super::module_version::ModuleVersionSpec;
use super::needs::{Reference, ResourceSpec, SpecPath};
use super::network::{NetworkSpec, PeerSpec, VirtualIpSpec};
use super::node::NodeSpec;
use super::notification::{AlertSpec, NotificationProviderSpec};
use super::template::TemplateSpec;
use crate::shape::{Canonical, Decoder, Defaults, Record, RecordDescription, Shape, canonical_json};
use crate::value::RepositoryPath;
use crate::yaml::NodeRef;

macro_rules! declare_specs {
    ($($(#[doc = $doc:literal])* $kind:ident($spec:ident) $slug:literal $plural:literal,)*) => {
        /// The spec of a resource, by kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Spec {
            $($(#[doc = $doc])* $kind($spec),)*
        }

        impl Spec {
            /// The kind of the resource.
            pub fn kind(&self) -> Kind {
                match self { $(Spec::$kind(_) => Kind::$kind),* }
            }

            /// Calls `visit` for each resource that this one refers to.
            pub fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
                match self { $(Spec::$kind(spec) => spec.references(name, visit)),* }
            }

            /// The resources that this one refers to, each once, in order.
            pub fn targets(&self, name: &str) -> Vec<ResourceKey> {
                let mut targets = Vec::new();
                self.references(name, &mut |reference| {
                    targets.push(ResourceKey::new(reference.kind, reference.name));
                });
                targets.sort();
                targets.dedup();
                targets
            }

            /// Calls `visit` for each path in the repository that this resource needs.
            pub fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, SpecPath)) {
                match self { $(Spec::$kind(spec) => spec.repository_paths(visit)),* }
            }

            pub(super) fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
                match self { $(Spec::$kind(spec) => spec.repository_paths_mut(visit)),* }
            }

            /// Whether it must not be destroyed.
            pub fn is_protected(&self) -> bool {
                match self { $(Spec::$kind(spec) => spec.is_protected()),* }
            }

            /// The bytes of the declared digest, which excludes the content at its paths.
            pub fn canonical_bytes(&self) -> Vec<u8> {
                match self { $(Spec::$kind(spec) => Canonical::bytes_of(spec, Defaults::Omit)),* }
            }

            /// The spec as JSON.
            pub fn to_json(&self, defaults: Defaults) -> Value {
                match self { $(Spec::$kind(spec) => canonical_json(spec, defaults)),* }
            }

            /// Reads a spec of a known kind, for example one that was stored.
            pub fn decode<'t>(kind: Kind, node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Spec> {
                match kind {
                    $(Kind::$kind => <$spec as Shape>::decode(node, decoder).map(Spec::$kind),)*
                }
            }
        }

        $(impl From<$spec> for Spec {
            fn from(spec: $spec) -> Spec {
                Spec::$kind(spec)
            }
        })*

        impl Kind {
            /// The fields of its spec.
            pub fn description(self) -> RecordDescription {
                match self { $(Kind::$kind => <$spec as Record>::description()),* }
            }
        }
    };
}

impl Spec {
    /// The content of a module version, if Windlass made it.
    pub fn version_content(&self) -> Option<&ModuleSpec> {
        match self {
            Spec::ModuleVersion(version) => version.content.as_deref(),
            _ => None,
        }
    }
}

kinds!(declare_specs);
