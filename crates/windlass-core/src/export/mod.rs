//! Exports the accepted state as the fleet files that declare exactly these resources.
//!
//! The result reads back to the same digests, in either form, and has the layout of `windlass fmt`. A resource that
//! fleet.yaml cannot express is omitted and listed in the result, never approximated.

mod exported;
mod fleet;
mod form;
mod node;
mod split;
mod write;

#[cfg(test)]
mod tests;

pub use self::exported::{Export, ExportedFile, ExportedFiles, OmissionReason, OmittedResource};
pub use self::form::{HiddenValues, SectionForm};

use crate::resource::Spec;
use crate::yaml::MAX_FILE_BYTES;

/// The fleet that declares these resources, as one text.
pub fn fleet_yaml<'r>(
    account: &str,
    resources: impl IntoIterator<Item = (&'r str, &'r Spec)>,
    form: SectionForm,
    values: HiddenValues,
) -> Export {
    let fleet = fleet::ExportedFleet::of(resources, form, values);
    Export { text: fleet.text(account), left_out: fleet.left_out, masked: fleet.masked }
}

/// The fleet that declares these resources, as files: fleet.yaml alone, or with `fleet.d/*.yaml` if one file would be
/// too large.
pub fn fleet_files<'r>(
    account: &str,
    resources: impl IntoIterator<Item = (&'r str, &'r Spec)>,
    form: SectionForm,
    values: HiddenValues,
) -> ExportedFiles {
    split::split(account, fleet::ExportedFleet::of(resources, form, values), MAX_FILE_BYTES)
}
