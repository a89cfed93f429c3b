//! What a node shall be, for people: every item with the module, the template or assignment, and the settings that it
//! comes from.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use super::compose::{HostProblem, HostState};
use super::document::{NodeDocument, NodeModule};
use super::item::{FileContent, HostItem, ItemFromModule};
use super::package::{BlobDigest, ModulePackage};
use super::resolve::ResolvedNode;
use super::template;

/// One item of a node, with where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct DescribedItem {
    /// The item.
    pub item: ItemFromModule,
    /// The module and its version: `nginx 1.26.0`.
    pub module: String,
    /// Why the node has the module.
    pub because: String,
    /// The settings that the item uses.
    pub settings: Vec<UsedSetting>,
}

/// A setting that an item uses.
#[derive(Clone, Debug, PartialEq)]
pub struct UsedSetting {
    /// Its name: `config.nginx_workers`.
    pub name: String,
    /// Its value.
    pub value: Value,
    /// Where it is set.
    pub origin: SettingOrigin,
}

/// Where a setting is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingOrigin {
    /// In the module.
    Module,
    /// In the settings of the node.
    NodeConfig,
    /// In the assignment of the module to the node.
    Assignment,
    /// It is a fact about the node.
    NodeFact,
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            SettingOrigin::Module => "module",
            SettingOrigin::NodeConfig => "node config",
            SettingOrigin::Assignment => "assignment",
            SettingOrigin::NodeFact => "node",
        })
    }
}

/// Every item of a node, in order, with where it comes from.
pub fn describe(
    node: &ResolvedNode,
    packages: &BTreeMap<BlobDigest, ModulePackage>,
) -> Result<Vec<DescribedItem>, Vec<HostProblem>> {
    let state = HostState::compose(&node.document, packages)?;
    let described = state.items.into_iter().map(|item| {
        let module = &node.document.modules[item.module];
        let version = module.version.as_deref().map_or(String::new(), |version| format!(" {version}"));
        let used = packages
            .get(&module.package)
            .map(|package| used_settings(&node.document, module, package, &item));
        DescribedItem {
            module: format!("{}{version}", module.name),
            because: node.origins[item.module].to_string(),
            settings: used.unwrap_or_default(),
            item,
        }
    });
    Ok(described.collect())
}

fn used_settings(
    document: &NodeDocument,
    module: &NodeModule,
    package: &ModulePackage,
    item: &ItemFromModule,
) -> Vec<UsedSetting> {
    let Some(text) = text_before_filling(package, &item.item) else { return Vec::new() };
    let values = document.values_of(&package.spec.config.0, module);
    let names = template::names(text).into_iter();
    let used = names.filter_map(|name| {
        let value = values.get(name)?.clone();
        Some(UsedSetting { name: name.to_owned(), value, origin: setting_origin(document, module, name) })
    });
    used.collect()
}

/// The text of an item as the module has it. Texts in files of the repository are not at hand here.
fn text_before_filling<'p>(package: &'p ModulePackage, item: &HostItem) -> Option<&'p str> {
    let host = package.spec.host.as_ref()?;
    match item {
        HostItem::File(path, file) if matches!(file.content, FileContent::Text(_)) => {
            host.files.get(path)?.content.as_deref()
        }
        HostItem::Sysctl(name, _) => host.sysctl.get(name)?.as_str(),
        HostItem::Timer(name, _) => Some(host.timers.get(name)?.command.as_str()),
        _ => None,
    }
}

fn setting_origin(document: &NodeDocument, module: &NodeModule, name: &str) -> SettingOrigin {
    let Some(path) = name.strip_prefix("config.") else { return SettingOrigin::NodeFact };
    let is_in = |config: &serde_json::Map<String, Value>| {
        config.contains_key(path) || path.match_indices('.').any(|(dot, _)| config.contains_key(&path[..dot]))
    };
    if is_in(&module.config) {
        SettingOrigin::Assignment
    } else if is_in(&document.config) {
        SettingOrigin::NodeConfig
    } else {
        SettingOrigin::Module
    }
}
