//! Items as people see them: secret settings masked before texts are filled, so that no text contains one.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::document::{NodeDocument, NodeModule};
use super::item::{FileContent, HostItem};
use super::package::{BlobDigest, ModulePackage};
use crate::content::masked_text;
use crate::diff::{hide_secrets, mask_secrets};

/// A document whose secret settings are masked. It refers to the same packages.
pub fn masked_document(document: &NodeDocument) -> NodeDocument {
    let module = |module: &NodeModule| NodeModule { config: masked(&module.config), ..module.clone() };
    NodeDocument {
        node: document.node.clone(),
        config: masked(&document.config),
        modules: document.modules.iter().map(module).collect(),
    }
}

/// Packages whose secret settings are masked, under the digests of the originals.
pub fn masked_packages(
    packages: &BTreeMap<BlobDigest, ModulePackage>,
) -> BTreeMap<BlobDigest, ModulePackage> {
    let one = |(digest, package): (&BlobDigest, &ModulePackage)| {
        let mut package = package.clone();
        let config = package.spec.config.0.iter().map(|(name, value)| (name.clone(), value.clone()));
        let config = masked(&config.collect());
        package.spec.config.0 = config.into_iter().collect();
        (*digest, package)
    };
    packages.iter().map(one).collect()
}

fn masked(config: &Map<String, Value>) -> Map<String, Value> {
    let mut config = Value::Object(config.clone());
    mask_secrets(&mut config);
    match config {
        Value::Object(config) => config,
        _ => Map::new(),
    }
}

impl HostItem {
    /// The item as JSON with all its fields, for people: secrets masked, and long texts cut.
    pub fn to_shown_json(&self) -> Value {
        let mut shown = hide_secrets(self.to_json());
        if let HostItem::File(_, file) = self
            && let FileContent::Text(text) = &file.content
        {
            shown["content"]["text"] = masked_text(text).into();
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::host::HostState;
    use crate::resource::{Kind, Spec};

    #[test]
    fn no_secret_setting_reaches_an_item_that_is_shown() {
        let spec = json!({"config": {"db_password": "hunter2", "port": 1}, "host": {"files": {"/a": {"content":
            "connect {{ config.db_password }} {{ config.api_token }} {{ config.port }}\npassword: hunter3\n"}}}});
        let Some(Spec::Module(spec)) = Spec::read_stored(Kind::Module, &spec.to_string()) else { panic!() };
        let package = ModulePackage { name: "m".to_owned(), spec, files: BTreeMap::new() };
        let module = NodeModule {
            name: "m".to_owned(),
            version: None,
            package: package.digest(),
            priority: 50,
            depends_on: Vec::new(),
            config: json!({"api_token": "hunter4"}).as_object().unwrap().clone(),
        };
        let document = NodeDocument { node: Map::new(), config: Map::new(), modules: vec![module] };
        let packages = [(package.digest(), package)].into();
        let state = HostState::compose(&masked_document(&document), &masked_packages(&packages)).unwrap();
        let shown = state.items[0].item.to_shown_json()["content"]["text"].as_str().unwrap().to_owned();
        assert!(shown.starts_with("connect (hidden) (hidden) 1\n"), "{shown}");
        assert!(!shown.contains("hunter"), "{shown}");
    }
}
