//! The kinds of things a fleet is made of: one file per kind with its spec, its defaults and what it refers to.
//!
//! To add a kind: a file here with a `record!` and its [`ResourceSpec`], one line in `kinds!`, and its section in
//! `manifest/document.rs`. Schema, explain, diff, order and reference follow from that; ARCHITECTURE.md has the checklist.

mod assignment;
mod bundle;
mod cluster;
mod content;
mod federation;
mod home;
mod map;
mod module;
mod network;
mod node;
mod notification;
mod read;
mod template;

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use assignment::{AssignmentName, AssignmentSpec};
pub use bundle::{
    BundleSpec, BundleTarget, Chart, Decryption, DecryptionProvider, HealthCheck, Rollout, RolloutWave,
};
pub use cluster::{ClusterGroupSpec, ClusterSpec, ExpressionOperator, LabelExpression, LabelSelector};
pub use federation::FederationPeerSpec;
pub(crate) use home::Home;
pub use map::ResourceMap;
pub use module::{HostFile, HostService, HostSpec, ModuleSpec, ServiceState, Variety};
pub use network::{NetworkSpec, PeerSpec, RoutingMode, VirtualIpSpec};
pub use node::{LifecycleClass, NodeSpec};
pub use notification::{AlertResource, AlertSeverity, AlertSpec, NotificationProviderSpec, ProviderType};
pub use read::ReadSpec;
pub use template::TemplateSpec;

use crate::shape::{
    Canonical, ChoiceDescription, Decoder, Defaults, Description, Record, RecordDescription, Shape,
    canonical_json,
};
use crate::value::RepositoryPath;
use crate::yaml::NodeRef;

/// What a spec must tell beside its shape.
pub trait ResourceSpec: Record {
    /// Calls `visit` for each resource this one needs. `name` is the resource's own name.
    fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>));

    /// Calls `visit` for each path of the repository that must exist for this resource, and which part says so.
    fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, At)) {
        let _ = visit;
    }

    /// Calls `visit` for each of the same paths, to note what stands there.
    fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
        let _ = visit;
    }

    /// Whether destroying it is refused.
    fn is_protected(&self) -> bool;
}

/// One resource needing another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference<'s> {
    /// What kind of thing is needed.
    pub kind: Kind,
    /// Its name.
    pub name: Cow<'s, str>,
    /// Which part of the spec says so.
    pub at: At,
}

impl<'s> Reference<'s> {
    fn new(kind: Kind, name: impl Into<Cow<'s, str>>, at: At) -> Reference<'s> {
        Reference { kind, name: name.into(), at }
    }
}

/// A place inside a spec, cheap enough to make for every reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The resource's own name.
    Name,
    /// A field.
    Field(&'static str),
    /// An item of a list field.
    Item(&'static str, usize),
    /// A field of an item of a list field.
    ItemField(&'static str, usize, &'static str),
    /// Somewhere inside a field: a value, or an item of a list, under this key.
    Inside(&'static str, &'static str),
}

macro_rules! kinds {
    ($($(#[doc = $doc:literal])* $kind:ident($spec:ident) $slug:literal $plural:literal,)*) => {
        /// The kinds of resources, in the order in which they are created when nothing else decides.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Kind {
            $($(#[doc = $doc])* $kind,)*
        }

        impl Kind {
            /// Every kind, in order.
            pub const ALL: &'static [Kind] = &[$(Kind::$kind),*];

            /// The word for one of them: `virtual_ip`.
            pub const fn slug(self) -> &'static str {
                match self { $(Kind::$kind => $slug),* }
            }

            /// The word for many of them: `virtual_ips`.
            pub const fn plural(self) -> &'static str {
                match self { $(Kind::$kind => $plural),* }
            }

            const fn doc(self) -> &'static str {
                match self { $(Kind::$kind => concat!($($doc, "\n"),*)),* }
            }

            /// The fields of its spec.
            pub fn description(self) -> RecordDescription {
                match self { $(Kind::$kind => <$spec as Record>::description()),* }
            }
        }

        /// The spec of a resource, by kind.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Spec {
            $($(#[doc = $doc])* $kind($spec),)*
        }

        impl Spec {
            /// The kind of thing this describes.
            pub fn kind(&self) -> Kind {
                match self { $(Spec::$kind(_) => Kind::$kind),* }
            }

            /// Calls `visit` for each resource this one needs.
            pub fn references<'s>(&'s self, name: &'s str, visit: &mut dyn FnMut(Reference<'s>)) {
                match self { $(Spec::$kind(spec) => spec.references(name, visit)),* }
            }

            /// The resources this one needs, each once, in order.
            pub fn targets(&self, name: &str) -> Vec<ResourceKey> {
                let mut targets = Vec::new();
                self.references(name, &mut |reference| {
                    targets.push(ResourceKey::new(reference.kind, reference.name));
                });
                targets.sort();
                targets.dedup();
                targets
            }

            /// Calls `visit` for each path of the repository that must exist for this resource.
            pub fn repository_paths<'s>(&'s self, visit: &mut dyn FnMut(&'s RepositoryPath, At)) {
                match self { $(Spec::$kind(spec) => spec.repository_paths(visit)),* }
            }

            fn repository_paths_mut(&mut self, visit: &mut dyn FnMut(&mut RepositoryPath)) {
                match self { $(Spec::$kind(spec) => spec.repository_paths_mut(visit)),* }
            }

            /// Whether destroying it is refused.
            pub fn is_protected(&self) -> bool {
                match self { $(Spec::$kind(spec) => spec.is_protected()),* }
            }

            /// The bytes digests are made of, but for what stands at the paths it names.
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
                    $(Kind::$kind => <$spec as crate::shape::Shape>::decode(node, decoder).map(Spec::$kind),)*
                }
            }
        }

        $(impl From<$spec> for Spec {
            fn from(spec: $spec) -> Spec {
                Spec::$kind(spec)
            }
        })*
    };
}

kinds! {
    /// Which modules make up a machine.
    Template(TemplateSpec) "template" "templates",
    /// A unit of configuration for machines.
    Module(ModuleSpec) "module" "modules",
    /// A machine.
    Node(NodeSpec) "node" "nodes",
    /// A module on one node, beside those its template brings.
    Assignment(AssignmentSpec) "assignment" "assignments",
    /// An overlay network.
    Network(NetworkSpec) "network" "networks",
    /// A node's place in a network.
    Peer(PeerSpec) "peer" "peers",
    /// An address that moves between peers of a network.
    VirtualIp(VirtualIpSpec) "virtual_ip" "virtual_ips",
    /// Another control plane this one trusts.
    FederationPeer(FederationPeerSpec) "federation_peer" "federation_peers",
    /// A Kubernetes cluster.
    Cluster(ClusterSpec) "cluster" "clusters",
    /// Clusters chosen by label.
    ClusterGroup(ClusterGroupSpec) "cluster_group" "cluster_groups",
    /// Kubernetes content and where it goes.
    Bundle(BundleSpec) "bundle" "bundles",
    /// Somewhere messages can be sent to.
    NotificationProvider(NotificationProviderSpec) "notification_provider" "notification_providers",
    /// Which events are told through which providers.
    Alert(AlertSpec) "alert" "alerts",
}

impl Kind {
    /// The kind of this word, singular or plural.
    pub fn from_word(word: &str) -> Option<Kind> {
        Kind::ALL.iter().copied().find(|kind| kind.slug() == word || kind.plural() == word)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.slug())
    }
}

/// Wherever a document names a kind, it is one of the words for one.
impl Shape for Kind {
    fn decode<'t>(node: NodeRef<'t>, decoder: &mut Decoder<'t>) -> Option<Self> {
        let word = decoder.text(node)?;
        let kind = Kind::ALL.iter().copied().find(|kind| kind.slug() == word);
        if kind.is_none() {
            let words: Vec<&'static str> = Kind::ALL.iter().map(|kind| kind.slug()).collect();
            decoder.not_a_choice(node, word, &words);
        }
        kind
    }

    fn write(&self, out: &mut Canonical) {
        out.text(self.slug());
    }

    fn describe() -> Description {
        let choice = |kind: &Kind| ChoiceDescription { word: kind.slug(), doc: kind.doc() };
        Description::Choice(Kind::ALL.iter().map(choice).collect())
    }
}

impl Serialize for Kind {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.slug())
    }
}

impl<'de> Deserialize<'de> for Kind {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
        let word = String::deserialize(deserializer)?;
        let kind = Kind::ALL.iter().copied().find(|kind| kind.slug() == word);
        kind.ok_or_else(|| serde::de::Error::custom("not a kind of resource that this version knows"))
    }
}

/// A resource's identity inside an account. Peers and virtual IPs are named `network/name`, assignments `node:module`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResourceKey {
    /// The kind.
    pub kind: Kind,
    /// The name, unique within the kind.
    pub name: String,
}

impl ResourceKey {
    /// The key of this kind and name.
    pub fn new(kind: Kind, name: impl Into<String>) -> ResourceKey {
        ResourceKey { kind, name: name.into() }
    }
}

impl fmt::Display for ResourceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

/// The network and the member of a peer's or virtual IP's name.
pub(crate) fn member_name(name: &str) -> (&str, &str) {
    name.split_once('/').unwrap_or((name, name))
}
