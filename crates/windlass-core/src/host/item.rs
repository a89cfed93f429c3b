//! Items: the single things that an agent makes true on a machine.

use std::fmt;

use serde_json::{Value, json};

use super::package::BlobRef;
use super::template::TemplateValues;
use crate::resource::{DriftMode, HostDirectory, HostGroup, HostLink, HostService, HostTimer, HostUser};
use crate::shape::{Defaults, canonical_json};
use crate::value::{
    AbsolutePath, AccountName, CheckCommand, FileMode, PackageName, PackagePin, SettingName, UnitName,
};

/// One thing on a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum HostItem {
    /// An installed package.
    Package(PackagePin),
    /// A package that upgrades leave as it is.
    Hold(PackageName),
    /// A group.
    Group(AccountName, HostGroup),
    /// A user with its keys.
    User(AccountName, HostUser),
    /// A directory.
    Directory(AbsolutePath, HostDirectory),
    /// A file.
    File(AbsolutePath, DesiredFile),
    /// A symbolic link.
    Link(AbsolutePath, HostLink),
    /// A kernel setting and its value.
    Sysctl(SettingName, String),
    /// A service.
    Service(UnitName, HostService),
    /// A command on a schedule.
    Timer(UnitName, HostTimer),
}

/// A file as it shall be.
#[derive(Clone, Debug, PartialEq)]
pub struct DesiredFile {
    /// What is in it.
    pub content: FileContent,
    /// Permission bits.
    pub mode: FileMode,
    /// The user that owns it.
    pub owner: AccountName,
    /// The group that owns it.
    pub group: AccountName,
    /// The command that must accept it before it is put in place.
    pub validate: Option<CheckCommand>,
}

/// What is in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FileContent {
    /// This text.
    Text(String),
    /// The bytes of a blob.
    Blob(BlobRef),
    /// The text of a blob, filled with these values.
    FilledBlob(BlobRef, Box<TemplateValues>),
}

/// Which item of a machine: its type and its name there. There is one item for each.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostItemId {
    /// The type, in one word.
    pub kind: &'static str,
    /// Its name, or its path.
    pub name: String,
}

impl fmt::Display for HostItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)
    }
}

impl HostItem {
    /// Which item it is.
    pub fn id(&self) -> HostItemId {
        let (kind, name) = match self {
            HostItem::Package(pin) => ("package", pin.name.to_string()),
            HostItem::Hold(name) => ("hold", name.to_string()),
            HostItem::Group(name, _) => ("group", name.to_string()),
            HostItem::User(name, _) => ("user", name.to_string()),
            // A path is one thing only.
            HostItem::Directory(path, _) | HostItem::File(path, _) | HostItem::Link(path, _) => {
                ("path", path.to_string())
            }
            HostItem::Sysctl(name, _) => ("sysctl", name.to_string()),
            HostItem::Service(name, _) => ("service", name.to_string()),
            HostItem::Timer(name, _) => ("timer", name.to_string()),
        };
        HostItemId { kind, name }
    }
}

/// An item and the module that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ItemFromModule {
    /// The item.
    pub item: HostItem,
    /// The module, an index into the modules of the node's document.
    pub module: usize,
    /// What the agent does when the machine differs.
    pub drift: DriftMode,
}

impl HostItem {
    /// The item as JSON with all its fields, for people and for comparing.
    pub fn to_json(&self) -> Value {
        match self {
            HostItem::Package(pin) => json!({"version": pin.version}),
            HostItem::Hold(_) => json!({"held": true}),
            HostItem::Group(_, group) => canonical_json(group, Defaults::Fill),
            HostItem::User(_, user) => canonical_json(user, Defaults::Fill),
            HostItem::Directory(_, directory) => {
                typed("directory", canonical_json(directory, Defaults::Fill))
            }
            HostItem::File(_, file) => typed("file", file.to_json()),
            HostItem::Link(_, link) => typed("link", canonical_json(link, Defaults::Fill)),
            HostItem::Sysctl(_, value) => json!({"value": value}),
            HostItem::Service(_, service) => canonical_json(service, Defaults::Fill),
            HostItem::Timer(_, timer) => canonical_json(timer, Defaults::Fill),
        }
    }
}

/// Directories, files and links are all paths, so they say what they are.
fn typed(word: &str, mut json: Value) -> Value {
    json["type"] = word.into();
    json
}

impl DesiredFile {
    fn to_json(&self) -> Value {
        let content = match &self.content {
            FileContent::Text(text) => json!({"text": text}),
            FileContent::Blob(blob) => json!({"blob": blob.digest}),
            FileContent::FilledBlob(blob, values) => {
                json!({"blob": blob.digest, "filled_with": {"config": values.config, "node": values.node}})
            }
        };
        json!({
            "content": content,
            "mode": self.mode.to_string(),
            "owner": self.owner.as_str(),
            "group": self.group.as_str(),
            "validate": self.validate.as_ref().map(CheckCommand::as_str),
        })
    }
}
