//! The kinds of things a fleet is made of, and the words for them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::shape::{Canonical, ChoiceDescription, Decoder, Description, Shape};
use crate::yaml::NodeRef;

/// The one table of kinds, handed to a macro that declares something for each: what it is, the type of its spec, and the
/// words for one and for many.
macro_rules! kinds {
    ($declare:ident) => {
        $declare! {
            /// Which modules make up a machine.
            Template(TemplateSpec) "template" "templates",
            /// A unit of configuration for machines.
            Module(ModuleSpec) "module" "modules",
            /// Immutable content of a module, with a lifecycle.
            ModuleVersion(ModuleVersionSpec) "module_version" "module_versions",
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
    };
}
pub(super) use kinds;

macro_rules! declare_kinds {
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
        }
    };
}

kinds!(declare_kinds);

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
        kind.ok_or_else(|| serde::de::Error::custom("unknown kind of resource"))
    }
}
