//! What a node shall be, with the origin of every line.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::digest::Digest;
use windlass_core::host::{
    BlobDigest, DescribedItem, HostProblem, ModulePackage, ResolvedNode, describe, masked_document,
    masked_packages,
};

/// What a node shall be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NodeRender {
    /// The node.
    pub name: String,
    /// The digest of its document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its document, secrets masked: the facts and settings of the node, and its modules by digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Value>,
    /// Its modules with their items, in the order in which the agent applies them.
    pub modules: Vec<RenderedModule>,
    /// Why the node cannot be what is accepted. It keeps what it has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
    /// What is assigned to the node; none offline, and before the first assignment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assigned: Option<RenderedAssignment>,
}

/// What is assigned to a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenderedAssignment {
    /// The generation of the assignment.
    pub generation: u64,
    /// The digest of the assigned document.
    pub digest: String,
}

/// A module of a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenderedModule {
    /// Its name.
    pub name: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of its package.
    pub package: String,
    /// Where two modules set the same thing, the higher priority wins.
    pub priority: i64,
    /// Why the node has it: `template edge (nginx@live)`.
    pub because: String,
    /// What it makes of the node.
    pub items: Vec<RenderedItem>,
}

/// An item: a package, a file, a service and so on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenderedItem {
    /// Its type: `package`, `path`, `service` and so on.
    pub kind: String,
    /// Its name or path.
    pub name: String,
    /// What the agent does when the machine differs: `report` or `correct`.
    pub drift: String,
    /// Its fields, secrets masked.
    pub fields: Value,
    /// The settings that it uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<RenderedSetting>,
}

/// A setting that an item uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RenderedSetting {
    /// Its name: `config.nginx_workers`.
    pub name: String,
    /// Its value, masked if it is a secret.
    pub value: Value,
    /// Where it is set: `module`, `node config`, `assignment` or `node`.
    pub origin: String,
}

impl NodeRender {
    /// A node that cannot be resolved.
    pub fn unresolved(name: &str, problem: impl Into<String>) -> NodeRender {
        NodeRender {
            name: name.to_owned(),
            digest: None,
            document: None,
            modules: Vec::new(),
            problems: vec![problem.into()],
            assigned: None,
        }
    }

    /// A resolved node with its items, secrets masked.
    pub fn of(name: &str, node: &ResolvedNode, packages: &BTreeMap<BlobDigest, ModulePackage>) -> NodeRender {
        let shown = ResolvedNode { document: masked_document(&node.document), ..node.clone() };
        let used = node.document.modules.iter().filter_map(|module| packages.get_key_value(&module.package));
        let used: BTreeMap<BlobDigest, ModulePackage> =
            used.map(|(digest, package)| (*digest, package.clone())).collect();
        let (items, problems) = match describe(&shown, &masked_packages(&used)) {
            Ok(items) => (items, Vec::new()),
            Err(problems) => (Vec::new(), problems.iter().map(HostProblem::to_string).collect()),
        };
        let modules = shown.document.modules.iter().zip(&shown.origins);
        let mut modules: Vec<RenderedModule> = modules
            .map(|(module, origin)| RenderedModule {
                name: module.name.clone(),
                version: module.version.clone(),
                package: module.package.to_string(),
                priority: module.priority,
                because: origin.to_string(),
                items: Vec::new(),
            })
            .collect();
        for described in items {
            modules[described.item.module].items.push(rendered_item(described));
        }
        NodeRender {
            name: name.to_owned(),
            digest: Some(Digest::of(&node.document.to_bytes()).to_string()),
            document: serde_json::to_value(&shown.document).ok(),
            modules,
            problems,
            assigned: None,
        }
    }
}

fn rendered_item(described: DescribedItem) -> RenderedItem {
    let DescribedItem { item, settings, .. } = described;
    let id = item.item.id();
    RenderedItem {
        kind: id.kind.to_owned(),
        name: id.name,
        drift: item.drift.word().to_owned(),
        fields: item.item.to_shown_json(),
        settings: settings
            .into_iter()
            .map(|setting| RenderedSetting {
                name: setting.name,
                value: setting.value,
                origin: setting.origin.to_string(),
            })
            .collect(),
    }
}
