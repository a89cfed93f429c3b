//! Holds: packages that upgrades of the host leave as they are.

use serde::{Deserialize, Serialize};
use windlass_core::host::HostItem;
use windlass_core::value::PackageName;

use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use windlass_core::host::FieldDifference;

/// Holds.
pub(crate) struct HoldType;

/// Whether the package was held before the agent's first change.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreviousHold {
    held: bool,
}

impl ItemType for HoldType {
    const NAME: &'static str = "hold";
    const ID_KIND: &'static str = "hold";
    type Desired<'i> = &'i PackageName;
    type Previous = PreviousHold;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Hold(name) => Some(name),
            _ => None,
        }
    }

    fn differences(machine: &Machine<'_>, name: &PackageName) -> Result<Vec<FieldDifference>, HostError> {
        match machine.packages.is_held(name.as_str())? {
            true => Ok(Vec::new()),
            false => Ok(vec![FieldDifference::value("held", Some("false"), Some("true"))]),
        }
    }

    fn remember(machine: &Machine<'_>, name: &PackageName) -> Result<PreviousHold, HostError> {
        Ok(PreviousHold { held: machine.packages.is_held(name.as_str())? })
    }

    fn apply(machine: &Machine<'_>, name: &PackageName) -> Result<(), HostError> {
        machine.effect("holding a package", || machine.packages.hold(name.as_str()))
    }

    fn removal_differences(
        machine: &Machine<'_>,
        name: &str,
        previous: &PreviousHold,
    ) -> Result<Vec<FieldDifference>, HostError> {
        match !previous.held && machine.packages.is_held(name)? {
            true => Ok(vec![FieldDifference::value("held", Some("true"), Some("false"))]),
            false => Ok(Vec::new()),
        }
    }

    fn remove(machine: &Machine<'_>, name: &str, previous: &PreviousHold) -> Result<(), HostError> {
        if previous.held || !machine.packages.is_held(name)? {
            return Ok(());
        }
        machine.effect("releasing a package", || machine.packages.unhold(name))
    }
}
