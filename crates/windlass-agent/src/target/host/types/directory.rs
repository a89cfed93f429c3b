//! Directories: owner and mode. What is in a directory is left as it is.

use windlass_core::host::HostItem;
use windlass_core::resource::HostDirectory;
use windlass_core::value::AbsolutePath;

use crate::target::host::error::HostError;
use crate::target::host::item_type::ItemType;
use crate::target::host::machine::Machine;
use crate::target::host::owner::push_attributes;
use crate::target::host::previous::{self, PreviousPath};
use crate::target::host::tree::PathType;
use windlass_core::host::{FieldDifference, push_value};

/// Directories. The inventory lists those that the agent created; it removes them when they are empty.
pub(crate) struct DirectoryType;

impl ItemType for DirectoryType {
    const NAME: &'static str = "directory";
    const ID_KIND: &'static str = "path";
    type Desired<'i> = (&'i AbsolutePath, &'i HostDirectory);
    type Previous = PreviousPath;

    fn of(item: &HostItem) -> Option<Self::Desired<'_>> {
        match item {
            HostItem::Directory(path, directory) => Some((path, directory)),
            _ => None,
        }
    }

    fn directories(_machine: &Machine<'_>, (path, _): Self::Desired<'_>) -> Vec<String> {
        vec![path.to_string()]
    }

    fn differences(
        machine: &Machine<'_>,
        (path, directory): Self::Desired<'_>,
    ) -> Result<Vec<FieldDifference>, HostError> {
        let mut differences = Vec::new();
        let found = machine.tree.metadata(path.as_str())?;
        let found_type = found.map(|found| found.path_type);
        push_value(&mut differences, "type", found_type.map(PathType::word), Some("directory"));
        let found = found.filter(|found| found.path_type == PathType::Directory);
        let desired = (directory.mode.0, directory.owner.as_str(), directory.group.as_str());
        push_attributes(machine, &mut differences, found, desired)?;
        Ok(differences)
    }

    fn remember(machine: &Machine<'_>, (path, _): Self::Desired<'_>) -> Result<PreviousPath, HostError> {
        match machine.tree.metadata(path.as_str())?.map(|found| found.path_type) {
            None | Some(PathType::Directory) => previous::remember(machine, path.as_str()),
            Some(found) => Err(found.refuse(path.as_str())),
        }
    }

    fn apply(machine: &Machine<'_>, (path, directory): Self::Desired<'_>) -> Result<(), HostError> {
        let (owner, group) = (directory.owner.as_str(), directory.group.as_str());
        let attributes = machine.attributes(directory.mode.0, owner, group)?;
        match machine.tree.metadata(path.as_str())?.map(|found| found.path_type) {
            None => machine.tree.create_directories(path.as_str())?,
            Some(PathType::Directory) => {}
            Some(found) => return Err(found.refuse(path.as_str())),
        }
        machine.tree.set_attributes(path.as_str(), &attributes)
    }

    fn removal_differences(
        machine: &Machine<'_>,
        path: &str,
        previous: &PreviousPath,
    ) -> Result<Vec<FieldDifference>, HostError> {
        previous::restore_differences(machine, path, previous)
    }

    fn remove(machine: &Machine<'_>, path: &str, previous: &PreviousPath) -> Result<(), HostError> {
        match (previous, machine.tree.metadata(path)?.map(|found| found.path_type)) {
            // Someone removed the directory, or put something else there: it stays so.
            (_, None) | (PreviousPath::Absent, _) => Ok(()),
            (_, Some(PathType::Directory)) => previous::restore(machine, path, previous),
            (_, Some(_)) => Ok(()),
        }
    }
}
