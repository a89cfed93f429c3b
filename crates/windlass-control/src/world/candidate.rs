//! A change that would be made, and for whom.

use windlass_core::conflict::Claimant;
use windlass_core::desired::Desired;
use windlass_core::diff::Change;
use windlass_store::Proposal;

/// A proposal's change, wanted by its repository, or by whoever makes it directly.
pub(crate) fn candidate<'c>(proposal: &'c Proposal, change: &'c Change) -> Candidate<'c> {
    let (id, number) = (proposal.repository_id.as_str(), proposal.id.as_str());
    let claimant = match proposal.edit {
        _ if proposal.is_direct() => Claimant::Person,
        Some(_) => Claimant::Edited { id, proposal: number },
        None => Claimant::Repository { id, proposal: Some(number) },
    };
    Candidate { change, claimant }
}

/// A change and who wants it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'c> {
    pub(crate) change: &'c Change,
    pub(crate) claimant: Claimant<'c>,
}

/// What repositories declare.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Declarations<'d> {
    /// As it was stored at their last good runs.
    Stored,
    /// As the files say that are looked at.
    Read(&'d Desired),
}
