//! Groups of the host.

use serde::{Deserialize, Serialize};
use windlass_core::host::HostItem;
use windlass_core::resource::HostGroup;
use windlass_core::value::AccountName;

use crate::target::host::account_command;
use crate::target::host::accounts;
use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use windlass_core::host::{FieldDifference, push_value};

/// Groups.
pub(crate) struct GroupType;

/// A group before the agent's first change.
#[derive(Serialize, Deserialize)]
pub(crate) struct PreviousGroup {
    /// Its number; `None` if there was no such group.
    gid: Option<u32>,
}

impl ItemType for GroupType {
    const NAME: &'static str = "group";
    const ID_KIND: &'static str = "group";
    type Desired<'i> = (&'i AccountName, &'i HostGroup);
    type Previous = PreviousGroup;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Group(name, group) => Some((name, group)),
            _ => None,
        }
    }

    fn differences(
        machine: &Machine<'_>,
        (name, group): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let found = accounts::group(&machine.tree, name.as_str())?.map(|group| group.gid.to_string());
        let mut differences = Vec::new();
        match (&group.gid, &found) {
            (None, Some(_)) => {}
            (None, None) => push_value(&mut differences, "gid", None, Some("any")),
            (Some(gid), _) => push_value(&mut differences, "gid", found.as_deref(), Some(&gid.0.to_string())),
        }
        Ok(differences)
    }

    fn remember(machine: &Machine<'_>, (name, _): Self::Desired<'_>) -> Result<PreviousGroup, HostError> {
        Ok(PreviousGroup { gid: accounts::group(&machine.tree, name.as_str())?.map(|group| group.gid) })
    }

    fn apply(machine: &Machine<'_>, (name, group): Self::Desired<'_>) -> Result<(), HostError> {
        let gid = group.gid.as_ref().map(|gid| gid.0.to_string());
        let exists = accounts::group(&machine.tree, name.as_str())?.is_some();
        let mut arguments = vec![if exists { "groupmod" } else { "groupadd" }];
        arguments.extend(gid.iter().flat_map(|gid| ["-g", gid.as_str()]));
        if group.system && !exists {
            arguments.push("-r");
        }
        arguments.push(name.as_str());
        account_command::run(machine, &arguments)
    }

    fn removal_differences(
        machine: &Machine<'_>,
        name: &str,
        previous: &PreviousGroup,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let found = accounts::group(&machine.tree, name)?.map(|group| group.gid.to_string());
        let before = previous.gid.map(|gid| gid.to_string());
        let mut differences = Vec::new();
        push_value(&mut differences, "gid", found.as_deref(), before.as_deref());
        Ok(differences)
    }

    fn remove(machine: &Machine<'_>, name: &str, previous: &PreviousGroup) -> Result<(), HostError> {
        let found = accounts::group(&machine.tree, name)?.map(|group| group.gid);
        match (found, previous.gid) {
            (Some(_), None) => account_command::run(machine, &["groupdel", name]),
            (Some(now), Some(before)) if now != before => {
                account_command::run(machine, &["groupmod", "-g", &before.to_string(), name])
            }
            _ => Ok(()),
        }
    }
}
