//! Accepted state → fleet.yaml: the files that declare exactly these resources.
//!
//! What is written reads back to the same digests, in either form, and is already laid out as `windlass fmt` would.
//! What fleet.yaml has no way to say is left out and named in the result, never bent to fit.

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

/// The fleet that declares these resources, as files: fleet.yaml alone, or with `fleet.d/*.yaml` where one file would
/// be too large.
pub fn fleet_files<'r>(
    account: &str,
    resources: impl IntoIterator<Item = (&'r str, &'r Spec)>,
    form: SectionForm,
    values: HiddenValues,
) -> ExportedFiles {
    split::split(account, fleet::ExportedFleet::of(resources, form, values), MAX_FILE_BYTES)
}
