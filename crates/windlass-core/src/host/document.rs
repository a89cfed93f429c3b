//! The document of a node: its modules by digest, and the values to fill them with.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::package::BlobDigest;
use super::template::TemplateValues;
use crate::digest::Digest;

/// What one node shall be. Two nodes of one template differ in their names and settings alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeDocument {
    /// What templates can use as `node.x`: hostname, template, region, instance_type, platform, architecture, labels.
    pub node: Map<String, Value>,
    /// Settings of the node, for all its modules.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
    /// Its modules, each after those that it depends on.
    pub modules: Vec<NodeModule>,
}

/// A module on a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeModule {
    /// Its name.
    pub name: String,
    /// Its version; a module may have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The digest of its [`super::ModulePackage`].
    pub package: BlobDigest,
    /// Where two modules set the same thing, the higher priority wins.
    pub priority: i64,
    /// The modules of this node that it depends on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Settings of the module on this node, over those of the node.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub config: Map<String, Value>,
}

impl NodeModule {
    /// The digest that an agent reports for the module while it is in sync on its node.
    pub fn digest(&self) -> Digest {
        Digest::of(&serde_json::to_vec(self).expect("a module of a document is JSON"))
    }
}

impl NodeDocument {
    /// The last document of a node that was destroyed: it has no module, so its agent removes what it made.
    pub fn of_destroyed(node: &str) -> NodeDocument {
        let facts = [("hostname".to_owned(), Value::from(node))].into_iter().collect();
        NodeDocument { node: facts, config: Map::new(), modules: Vec::new() }
    }

    /// The bytes that are stored, sent and signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Maps of serde_json are sorted, so equal documents have equal bytes.
        serde_json::to_vec(self).expect("a document is JSON")
    }

    /// Reads what [`NodeDocument::to_bytes`] wrote.
    pub fn from_bytes(bytes: &[u8]) -> Result<NodeDocument, serde_json::Error> {
        serde_json::from_slice(bytes)
    }

    /// The digest of the document.
    pub fn digest(&self) -> Digest {
        Digest::of(&self.to_bytes())
    }

    /// The values for the texts of a module: its own defaults, then the node's settings, then those of the module on this
    /// node.
    pub(crate) fn values_of<'d>(
        &self,
        defaults: impl IntoIterator<Item = (&'d String, &'d Value)>,
        module: &NodeModule,
    ) -> TemplateValues {
        let mut config: Map<String, Value> =
            defaults.into_iter().map(|(name, value)| (name.clone(), value.clone())).collect();
        for (name, value) in self.config.iter().chain(&module.config) {
            config.insert(name.clone(), value.clone());
        }
        TemplateValues { config, node: self.node.clone() }
    }
}
