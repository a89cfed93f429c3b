//! Compares mode and owners of a path.

use super::accounts;
use super::error::HostError;
use super::machine::Machine;
use super::tree::{Ownership, PathMetadata};
use windlass_core::host::{FieldDifference, push_value};

/// Adds what differs of mode, owner and group. `desired` is the three of them.
pub(crate) fn push_attributes(
    machine: &Machine<'_>,
    differences: &mut Vec<FieldDifference>,
    found: Option<PathMetadata>,
    (mode, owner, group): (u32, &str, &str),
) -> Result<(), HostError> {
    let octal = |mode: u32| format!("{mode:04o}");
    push_value(differences, "mode", found.map(|found| octal(found.mode)).as_deref(), Some(&octal(mode)));
    let tree = &machine.tree;
    if tree.ownership == Ownership::Ignored {
        return Ok(());
    }
    // Two names may have one number, so numbers are compared and names are shown.
    if found.is_none_or(|found| accounts::uid(tree, owner).ok().flatten() != Some(found.uid)) {
        let observed = found.map(|found| accounts::user_name(tree, found.uid)).transpose()?;
        push_value(differences, "owner", observed.as_deref(), Some(owner));
    }
    if found.is_none_or(|found| accounts::gid(tree, group).ok().flatten() != Some(found.gid)) {
        let observed = found.map(|found| accounts::group_name(tree, found.gid)).transpose()?;
        push_value(differences, "group", observed.as_deref(), Some(group));
    }
    Ok(())
}
