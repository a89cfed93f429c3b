//! What a run cleans: the rest of interrupted changes, empty directories, and saved contents.

use super::inventory::EntryStatus;
use super::run::Run;

impl Run<'_> {
    /// Removes temporary files that an interrupted run left behind.
    pub(super) fn clean_interrupted(&self) {
        let pending = self.inventory.entries.iter().filter(|entry| entry.status == EntryStatus::Pending);
        for path in pending.flat_map(|entry| &entry.paths) {
            if let Err(error) = self.machine.tree.remove_temporary(path) {
                tracing::warn!(error = error.with_causes(), "a temporary file stays");
            }
        }
    }

    /// Removes empty directories that the agent created and that are no items, the deepest first. If one cannot be removed,
    /// the next run tries again.
    pub(super) fn remove_empty_directories(&mut self) {
        let is_item = |directory: &String| {
            let mut entries = self.inventory.entries.iter();
            entries.any(|entry| entry.item_type().id_kind() == "path" && entry.name == *directory)
        };
        let candidates: Vec<String> =
            self.inventory.created_directories.iter().rev().filter(|one| !is_item(one)).cloned().collect();
        for directory in candidates {
            match self.machine.tree.remove_empty_directory(&directory) {
                Ok(true) => {
                    self.inventory.created_directories.remove(&directory);
                }
                Ok(false) => {}
                Err(error) => tracing::warn!(error = error.with_causes(), "an empty directory stays"),
            }
        }
    }

    /// The end of a run. A failure here is no failure of an item, and the next run tries again.
    pub(super) fn clean_up(&mut self) {
        let created = self.inventory.created_directories.len();
        self.remove_empty_directories();
        let ids = self.state.items.iter().map(|one| one.item.id().to_string()).collect();
        let has_forgotten = self.inventory.keep_settled(&ids);
        let is_changed = self.inventory.created_directories.len() != created;
        let saved = match is_changed || has_forgotten || self.has_settled {
            true => self.save(),
            false => Ok(()),
        };
        let cleaned = saved.and_then(|()| self.inventory.delete_unneeded_contents(&self.machine.state));
        if let Err(error) = cleaned {
            tracing::warn!(error = error.with_causes(), "cannot clean up after the run");
        }
    }
}
