//! What repositories declare, for whoever looks at changes that are not stored yet.

use windlass_core::desired::Desired;

/// What repositories declare.
#[derive(Clone, Copy, Debug)]
pub(crate) enum DeclarationSource<'d> {
    /// As it was stored at their last good runs.
    Stored,
    /// As the files say that are looked at.
    Read(&'d Desired),
}
