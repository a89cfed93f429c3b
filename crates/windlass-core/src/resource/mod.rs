//! The kinds of resources: one file per kind with its spec, its defaults and its references.
//!
//! To add a kind: a file here with a `record!` and its [`ResourceSpec`], one line in `kinds!` in `kind.rs`, and its
//! section in `manifest/document.rs`. Schema, explain, diff, order and reference follow from that; ARCHITECTURE.md has
//! the checklist.

mod assignment;
mod bundle;
mod cluster;
mod content;
mod federation;
mod host;
mod key;
mod kind;
mod kind_section;
mod map;
mod module;
mod module_version;
mod module_version_name;
mod needs;
mod network;
mod node;
mod notification;
mod pins;
mod read;
mod rollout;
mod spec;
mod stored;
mod template;

pub use assignment::{AssignmentName, AssignmentSpec};
pub use bundle::{
    BundleSpec, BundleTarget, Chart, Decryption, DecryptionProvider, HealthCheck, Rollout, RolloutWave,
};
pub use cluster::{ClusterGroupSpec, ClusterSpec, ExpressionOperator, LabelExpression, LabelSelector};
pub use federation::FederationPeerSpec;
pub use host::{
    HostDirectory, HostFile, HostGroup, HostLink, HostService, HostSpec, HostTimer, HostUser, ServiceState,
};
pub use key::ResourceKey;
pub(crate) use key::member_name;
pub use kind::Kind;
pub(crate) use kind_section::KindSection;
pub use map::ResourceMap;
pub use module::{DriftMode, ModuleSpec, Variety};
pub use module_version::ModuleVersionSpec;
pub use module_version_name::{ModuleVersionName, version_name};
pub use needs::{Reference, ResourceSpec, SpecPath};
pub use network::{NetworkSpec, PeerSpec, RoutingMode, VirtualIpSpec};
pub use node::{LifecycleClass, NodeSpec};
pub use notification::{AlertResource, AlertSeverity, AlertSpec, NotificationProviderSpec, ProviderType};
pub use pins::Pin;
pub use read::ReadSpec;
pub use rollout::{NodeRollout, NodeWave, OfflineNodes};
pub use spec::Spec;
pub use template::TemplateSpec;
