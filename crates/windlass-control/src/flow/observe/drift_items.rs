//! Which drifted items of a target are written: those of modules that were listed, where they differ from what is stored.

use std::collections::{BTreeMap, BTreeSet};

use windlass_core::drift::{DriftedItem, ItemKey, bound_items};
use windlass_store::DriftHead;

use crate::flow::observe::group::MergedTarget;

/// What changes in the items of a target.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ItemChanges {
    /// Items that no longer differ.
    pub(crate) gone: Vec<ItemKey>,
    /// Items that are new or differ otherwise, each with its place.
    pub(crate) changed: Vec<(usize, DriftedItem)>,
    /// How many listed items were left out.
    pub(crate) left_out: u64,
}

/// Compares the listed items with the stored ones. The items of a listed module are replaced; those of a module that is no
/// longer on the node go; those of other modules stay.
pub(crate) fn item_changes(merged: &MergedTarget, stored: &[DriftHead]) -> ItemChanges {
    let modules = merged.modules();
    let stays = |head: &&DriftHead| {
        modules.contains(head.module.as_str()) && !merged.listed.contains_key(&head.module)
    };
    let staying: Vec<&DriftHead> = stored.iter().filter(stays).collect();
    // An item belongs to one module. If a report lists it twice, the last one counts.
    let listed: BTreeMap<&ItemKey, &(usize, DriftedItem)> =
        merged.listed.values().flatten().map(|listed| (&listed.1.key, listed)).collect();
    let mut listed: Vec<&(usize, DriftedItem)> = listed.into_values().collect();
    listed.sort_by_key(|(place, _)| *place);
    let places: Vec<usize> = listed.iter().map(|(place, _)| *place).collect();
    let mut items: Vec<DriftedItem> = listed.into_iter().map(|(_, item)| item.clone()).collect();
    let bytes = staying.iter().map(|head| head.bytes).sum();
    let left_out = bound_items(&mut items, staying.len(), bytes);
    let kept: BTreeSet<&ItemKey> =
        items.iter().map(|item| &item.key).chain(staying.iter().map(|head| &head.item)).collect();
    let gone =
        stored.iter().filter(|head| !kept.contains(&head.item)).map(|head| head.item.clone()).collect();
    let known: BTreeMap<&ItemKey, &DriftHead> = stored.iter().map(|head| (&head.item, head)).collect();
    let is_known = |item: &DriftedItem| {
        known.get(&item.key).is_some_and(|head| head.digest == item.digest() && head.since == item.since)
    };
    let changed: Vec<bool> = items.iter().map(|item| !is_known(item)).collect();
    let changed = places.into_iter().zip(items).zip(changed);
    let changed = changed.filter(|(_, is_changed)| *is_changed).map(|(placed, _)| placed).collect();
    ItemChanges { gone, changed, left_out }
}

#[cfg(test)]
#[path = "drift_items_tests.rs"]
mod tests;
