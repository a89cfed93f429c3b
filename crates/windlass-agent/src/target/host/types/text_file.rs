//! Files that the agent writes as a part of another item: units, cron files, kernel settings and keys.

use windlass_core::content::FileSide;

use crate::target::host::error::HostError;
use crate::target::host::machine::Machine;
use crate::target::host::tree::Attributes;
use windlass_core::host::FieldDifference;

/// Adds what differs between a file and a text.
pub(super) fn push_text(
    machine: &Machine<'_>,
    differences: &mut Vec<FieldDifference>,
    path: &str,
    text: &str,
) -> Result<(), HostError> {
    let observed = machine.tree.read_text(path)?;
    if observed.as_deref() != Some(text) {
        let side = |text: &str| FileSide::Bytes(text.as_bytes().to_vec());
        let observed = observed.map_or(FileSide::Nothing, |observed| side(&observed));
        differences.extend(FieldDifference::content(path, &observed, &side(text)));
    }
    Ok(())
}

/// Writes a text, unless the file has it already.
pub(super) fn write_text(
    machine: &Machine<'_>,
    path: &str,
    text: &str,
    attributes: &Attributes,
) -> Result<(), HostError> {
    if machine.tree.read_text(path)?.as_deref() == Some(text) {
        return Ok(());
    }
    machine.tree.create_parents(path)?;
    machine.tree.replace_text(path, text, attributes)
}
