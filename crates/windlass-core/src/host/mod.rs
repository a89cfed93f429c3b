//! What a machine shall be: from accepted resources to the items that an agent makes true.
//!
//! Three steps, each a pure function. [`NodeResolver`] finds which modules a node has, at which versions and with which
//! settings: a small [`NodeDocument`]. The content of each module is a [`ModulePackage`], the same for every node that has
//! the module, and found by its digest. [`HostState::compose`] puts both together: every package, file and service of the
//! node, in the order in which they are made true. The server does this to show it; the agent does it to apply it.

mod alike;
mod compose;
mod describe;
mod difference;
mod document;
mod effect;
mod item;
mod package;
mod resolve;
mod shown;
mod template;
mod versions;

pub use alike::ComposeKeys;
pub use compose::{HostProblem, HostState};
pub use describe::{DescribedItem, SettingOrigin, UsedSetting, describe};
pub use difference::{FieldDifference, push_value};
pub use document::{NodeDocument, NodeModule};
pub use effect::{
    ChangedNodes, FleetContent, ItemChange, ItemChangeKind, NodeEffect, NodesChangedAlike, changed_nodes,
};
pub use item::{DesiredFile, FileContent, HostItem, HostItemId, ItemFromModule};
pub use package::{BlobDigest, BlobRef, MAX_PACKAGE_BYTES, ModulePackage, PackageProblem};
pub use resolve::{MAX_MODULES, ModuleOrigin, NodeProblem, NodeResolver, ResolvedNode};
pub use shown::{masked_document, masked_packages};
pub use template::{MAX_FILLED_BYTES, TemplateProblem, TemplateValues, fill};
pub use versions::{ModuleVersion, ModuleVersions};
