//! Compares a state with the host, and reports what differs. It changes nothing.

use windlass_core::host::{HostState, NodeDocument};

use super::machine::Machine;
use super::report::ItemDrift;
use super::types;

/// The items that differ from the host, in the order of the state.
pub(crate) fn observe(machine: &Machine<'_>, document: &NodeDocument, state: &HostState) -> Vec<ItemDrift> {
    machine.packages.forget_observations();
    let compared = state.items.iter().map(|one| {
        let found = types::type_of(&one.item).differences(machine, &one.item);
        let module = document.modules.get(one.module).map(|module| module.name.clone()).unwrap_or_default();
        let found = found.map_err(|error| error.with_causes());
        ItemDrift { item: one.item.id(), module, mode: one.drift, found }
    });
    compared
        .filter(|drift| drift.found.as_ref().is_ok_and(|found| !found.is_empty()) || drift.found.is_err())
        .collect()
}
