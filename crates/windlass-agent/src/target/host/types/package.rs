//! Packages. The run installs all packages that differ in one transaction; this type removes those that it installed.

use serde::{Deserialize, Serialize};
use windlass_core::host::HostItem;
use windlass_core::value::PackagePin;

use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::packages::satisfies;
use windlass_core::host::FieldDifference;

/// Packages.
pub(crate) struct PackageType;

/// The version that was installed before the agent's first change. The agent removes only packages that it installed, and
/// does not go back to an older version.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreviousPackage {
    version: Option<String>,
}

impl ItemType for PackageType {
    const NAME: &'static str = "package";
    const ID_KIND: &'static str = "package";
    type Desired<'i> = &'i PackagePin;
    type Previous = PreviousPackage;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Package(pin) => Some(pin),
            _ => None,
        }
    }

    fn differences(machine: &Machine<'_>, pin: &PackagePin) -> Result<Vec<FieldDifference>, HostError> {
        let installed = machine.packages.installed(pin.name.as_str())?;
        if installed.as_ref().is_some_and(|version| satisfies(version, pin)) {
            return Ok(Vec::new());
        }
        let wanted = pin.version.as_deref().unwrap_or("any");
        Ok(vec![FieldDifference::value("version", installed.as_deref(), Some(wanted))])
    }

    fn remember(machine: &Machine<'_>, pin: &PackagePin) -> Result<PreviousPackage, HostError> {
        Ok(PreviousPackage { version: machine.packages.installed(pin.name.as_str())? })
    }

    fn apply(machine: &Machine<'_>, pin: &PackagePin) -> Result<(), HostError> {
        machine.effect("installing packages", || machine.packages.install(&[pin]))
    }

    fn removal_differences(
        machine: &Machine<'_>,
        name: &str,
        previous: &PreviousPackage,
    ) -> Result<Vec<FieldDifference>, HostError> {
        match (&previous.version, machine.packages.installed(name)?) {
            (None, Some(version)) => Ok(vec![FieldDifference::value("version", Some(&version), None)]),
            _ => Ok(Vec::new()),
        }
    }

    fn remove(machine: &Machine<'_>, name: &str, previous: &PreviousPackage) -> Result<(), HostError> {
        if previous.version.is_some() || machine.packages.installed(name)?.is_none() {
            return Ok(());
        }
        machine.effect("removing packages", || machine.packages.remove(&[name]))
    }
}
