//! The kinds of things a fleet is made of: one file per kind with its spec, its defaults and what it refers to.
//!
//! To add a kind: a file here with a `record!` and its [`ResourceSpec`], one line in `kinds!` in `kind.rs`, and its section
//! in `manifest/document.rs`. Schema, explain, diff, order and reference follow from that; ARCHITECTURE.md has the checklist.

mod assignment;
mod bundle;
mod cluster;
mod content;
mod federation;
mod home;
mod key;
mod kind;
mod map;
mod module;
mod needs;
mod network;
mod node;
mod notification;
mod read;
mod spec;
mod template;

pub use assignment::{AssignmentName, AssignmentSpec};
pub use bundle::{
    BundleSpec, BundleTarget, Chart, Decryption, DecryptionProvider, HealthCheck, Rollout, RolloutWave,
};
pub use cluster::{ClusterGroupSpec, ClusterSpec, ExpressionOperator, LabelExpression, LabelSelector};
pub use federation::FederationPeerSpec;
pub(crate) use home::Home;
pub use key::ResourceKey;
pub(crate) use key::member_name;
pub use kind::Kind;
pub use map::ResourceMap;
pub use module::{HostFile, HostService, HostSpec, ModuleSpec, ServiceState, Variety};
pub use needs::{At, Reference, ResourceSpec};
pub use network::{NetworkSpec, PeerSpec, RoutingMode, VirtualIpSpec};
pub use node::{LifecycleClass, NodeSpec};
pub use notification::{AlertResource, AlertSeverity, AlertSpec, NotificationProviderSpec, ProviderType};
pub use read::ReadSpec;
pub use spec::Spec;
pub use template::TemplateSpec;
