//! The inventory: what the agent has made on this host, on disk before it makes it.
//!
//! Before the agent touches an item, the inventory contains it together with what the host had before. A crash at any point
//! therefore leaves enough to finish or to undo the change.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_core::digest::Digest;
use windlass_core::host::{HostItem, HostItemId};

use super::error::HostError;
use super::item_type::AnyItemType;
use super::state_file::StateDirectory;
use super::types;

/// The file in the state directory.
const INVENTORY: &str = "inventory.json";

/// The version of the file's form.
const VERSION: u32 = 1;

/// Whether the agent finished a change of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum EntryStatus {
    /// A change has begun.
    Pending,
    /// The last change is complete.
    Done,
}

/// An item that the agent has made, or is about to make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct InventoryEntry {
    /// The name of its [`super::item_type::ItemType`].
    item_type: String,
    /// The name in the item's id.
    pub(crate) name: String,
    /// The module that it comes from.
    pub(crate) module: String,
    pub(crate) status: EntryStatus,
    /// The files and links that it writes.
    #[serde(default)]
    pub(crate) paths: Vec<String>,
    /// What the host had before.
    pub(crate) previous: Value,
}

impl InventoryEntry {
    pub(crate) fn new(
        item_type: &dyn AnyItemType,
        name: String,
        module: String,
        previous: Value,
    ) -> InventoryEntry {
        let (item_type, status) = (item_type.name().to_owned(), EntryStatus::Pending);
        InventoryEntry { item_type, name, module, status, paths: Vec::new(), previous }
    }

    /// Its type. The inventory is not read if it contains a type that this agent does not know.
    pub(crate) fn item_type(&self) -> &'static dyn AnyItemType {
        types::type_named(&self.item_type).expect("the types were checked when the inventory was read")
    }

    fn is(&self, id: &HostItemId) -> bool {
        self.name == id.name && self.item_type().id_kind() == id.kind
    }

    pub(crate) fn id(&self) -> HostItemId {
        HostItemId { kind: self.item_type().id_kind(), name: self.name.clone() }
    }
}

/// What a service needs because a file changed. A restart wins over a reload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NotificationKind {
    Reload,
    Restart,
}

/// A reload or restart that a service needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServiceNotification {
    pub(crate) kind: NotificationKind,
    /// The paths that changed.
    pub(crate) paths: BTreeSet<String>,
}

/// Everything that the agent has made on this host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Inventory {
    version: u32,
    /// In the order in which they were made.
    pub(crate) entries: Vec<InventoryEntry>,
    /// Directories that the agent created. It removes those that are empty and that no entry names.
    #[serde(default)]
    pub(crate) created_directories: BTreeSet<String>,
    /// Services that the agent has yet to reload or restart.
    #[serde(default)]
    pub(crate) notifications: BTreeMap<String, ServiceNotification>,
    /// Whether the service manager has yet to read changed unit files.
    #[serde(default)]
    pub(crate) definitions_changed: bool,
    /// Items that were as they should be at the end of a run, with the digest of what they should be. One that differs from
    /// this later was changed by someone else.
    #[serde(default)]
    settled: BTreeMap<String, Digest>,
}

impl Default for Inventory {
    fn default() -> Inventory {
        Inventory {
            version: VERSION,
            entries: Vec::new(),
            created_directories: BTreeSet::new(),
            notifications: BTreeMap::new(),
            definitions_changed: false,
            settled: BTreeMap::new(),
        }
    }
}

impl Inventory {
    /// Reads the inventory; a new host has an empty one.
    pub(crate) fn read(state: &StateDirectory) -> Result<Inventory, HostError> {
        let Some(bytes) = state.read(INVENTORY)? else { return Ok(Inventory::default()) };
        let unreadable =
            |problem: String| HostError::StateUnreadable { path: state.shown_path(INVENTORY), problem };
        let inventory: Inventory =
            serde_json::from_slice(&bytes).map_err(|error| unreadable(error.to_string()))?;
        if inventory.version != VERSION {
            return Err(unreadable(format!("its version {} is not {VERSION}", inventory.version)));
        }
        match inventory.entries.iter().find(|entry| types::type_named(&entry.item_type).is_none()) {
            Some(entry) => Err(unreadable(format!("the item type {} is unknown", entry.item_type))),
            None => Ok(inventory),
        }
    }

    /// Writes the inventory to the disk.
    pub(crate) fn save(&self, state: &StateDirectory) -> Result<(), HostError> {
        state.write(INVENTORY, &self.to_bytes())
    }

    /// Deletes saved contents that no entry needs.
    pub(crate) fn delete_unneeded_contents(&self, state: &StateDirectory) -> Result<(), HostError> {
        let text = String::from_utf8_lossy(&self.to_bytes()).into_owned();
        state.delete_saved_unless(|digest| text.contains(digest))
    }

    fn to_bytes(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("an inventory is JSON")
    }

    pub(crate) fn entry(&self, id: &HostItemId) -> Option<&InventoryEntry> {
        self.entries.iter().find(|entry| entry.is(id))
    }

    pub(crate) fn entry_mut(&mut self, id: &HostItemId) -> Option<&mut InventoryEntry> {
        self.entries.iter_mut().find(|entry| entry.is(id))
    }

    pub(crate) fn remove(&mut self, id: &HostItemId) {
        self.entries.retain(|entry| !entry.is(id));
        self.unsettle(id);
    }

    /// Whether an item was made true as it shall be now.
    pub(crate) fn is_settled(&self, item: &HostItem) -> bool {
        self.settled.get(&item.id().to_string()) == Some(&digest_of(item))
    }

    /// Notes that an item is as it shall be. Returns whether that is news.
    pub(crate) fn settle(&mut self, item: &HostItem) -> bool {
        let digest = digest_of(item);
        self.settled.insert(item.id().to_string(), digest) != Some(digest)
    }

    /// Notes that a change of an item begins.
    pub(crate) fn unsettle(&mut self, id: &HostItemId) {
        self.settled.remove(&id.to_string());
    }

    /// Forgets items that are not in this list. Returns whether there were any.
    pub(crate) fn keep_settled(&mut self, ids: &BTreeSet<String>) -> bool {
        let before = self.settled.len();
        self.settled.retain(|id, _| ids.contains(id));
        self.settled.len() < before
    }

    /// Notes that a service needs a reload or a restart.
    pub(crate) fn notify(&mut self, service: &str, kind: NotificationKind, path: &str) {
        let new = ServiceNotification { kind, paths: BTreeSet::new() };
        let notification = self.notifications.entry(service.to_owned()).or_insert(new);
        notification.kind = notification.kind.max(kind);
        notification.paths.insert(path.to_owned());
    }
}

/// What an item shall be, in a few bytes.
fn digest_of(item: &HostItem) -> Digest {
    Digest::of(item.to_json().to_string().as_bytes())
}
