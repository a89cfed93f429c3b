//! Symbolic links.

use windlass_core::host::HostItem;
use windlass_core::resource::HostLink;
use windlass_core::value::AbsolutePath;

use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::previous::{self, PreviousPath};
use crate::target::host::tree::PathType;
use windlass_core::host::{FieldDifference, push_value};

/// Symbolic links.
pub(crate) struct LinkType;

impl ItemType for LinkType {
    const NAME: &'static str = "link";
    const ID_KIND: &'static str = "path";
    type Desired<'i> = (&'i AbsolutePath, &'i HostLink);
    type Previous = PreviousPath;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Link(path, link) => Some((path, link)),
            _ => None,
        }
    }

    fn paths(_machine: &Machine<'_>, (path, _): Self::Desired<'_>) -> Vec<String> {
        vec![path.to_string()]
    }

    fn differences(
        machine: &Machine<'_>,
        (path, link): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let mut differences = Vec::new();
        let found = machine.tree.metadata(path.as_str())?.map(|found| found.path_type);
        push_value(&mut differences, "type", found.map(PathType::word), Some("link"));
        let to = match found {
            Some(PathType::Link) => Some(machine.tree.link_target(path.as_str())?),
            _ => None,
        };
        if to.as_deref() != Some(link.to.as_str().as_bytes()) {
            let to = to.map(|to| String::from_utf8_lossy(&to).into_owned());
            differences.push(FieldDifference::value("to", to.as_deref(), Some(link.to.as_str())));
        }
        Ok(differences)
    }

    fn remember(machine: &Machine<'_>, (path, _): Self::Desired<'_>) -> Result<PreviousPath, HostError> {
        previous::remember(machine, path.as_str())
    }

    fn apply(machine: &Machine<'_>, (path, link): Self::Desired<'_>) -> Result<(), HostError> {
        machine.tree.create_parents(path.as_str())?;
        machine.tree.replace_with_link(path.as_str(), link.to.as_str().as_bytes())
    }

    fn removal_differences(
        machine: &Machine<'_>,
        path: &str,
        previous: &PreviousPath,
    ) -> Result<Vec<FieldDifference>, HostError> {
        previous::restore_differences(machine, path, previous)
    }

    fn remove(machine: &Machine<'_>, path: &str, previous: &PreviousPath) -> Result<(), HostError> {
        previous::restore(machine, path, previous)
    }
}
