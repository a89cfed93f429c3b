//! Where to read what repositories declare: stored, or from files that are not stored yet.

use windlass_core::desired::Desired;

/// Where to read what repositories declare.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeclarationSource<'d> {
    /// As stored by the last successful run of each repository.
    Stored,
    /// As declared by the files of a preview.
    Read(&'d Desired),
}
