//! The order of a run: which items the agent makes and which it removes.
//!
//! The order depends on the state and the inventory alone. A dry run and an apply walk through the same steps.

use std::collections::BTreeSet;

use windlass_core::host::{HostItem, HostItemId, HostState};

use super::inventory::Inventory;

/// One step of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlanStep {
    /// Make the item with this index in the state.
    Make(usize),
    /// Remove an item that is no longer in the state.
    Remove(HostItemId),
}

/// The steps of a run: items in the order of the state, then removals, the newest first. A removal comes before
/// everything else if its path is in the way of an item.
pub(crate) fn plan_steps(inventory: &Inventory, state: &HostState) -> Vec<PlanStep> {
    let desired: BTreeSet<HostItemId> = state.items.iter().map(|one| one.item.id()).collect();
    let removed = inventory.entries.iter().rev().map(|entry| (entry, entry.id()));
    let removed = removed.filter(|(_, id)| !desired.contains(id));
    let (mut steps, mut last) = (Vec::new(), Vec::new());
    for (entry, id) in removed {
        let is_directory = entry.item_type().name() == "directory";
        match id.kind == "path" && is_in_the_way(&id.name, is_directory, state) {
            true => steps.push(PlanStep::Remove(id)),
            false => last.push(PlanStep::Remove(id)),
        }
    }
    steps.extend((0..state.items.len()).map(PlanStep::Make));
    steps.extend(last);
    steps
}

/// Whether an item needs a directory where this path is a file or a link, or is itself one where this path needs a directory.
fn is_in_the_way(path: &str, is_directory: bool, state: &HostState) -> bool {
    state.items.iter().any(|one| match &one.item {
        HostItem::Directory(desired, _) => !is_directory && is_above(path, desired.as_str()),
        HostItem::File(desired, _) | HostItem::Link(desired, _) => {
            (!is_directory && is_above(path, desired.as_str())) || is_above(desired.as_str(), path)
        }
        _ => false,
    })
}

fn is_above(path: &str, below: &str) -> bool {
    below.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}
