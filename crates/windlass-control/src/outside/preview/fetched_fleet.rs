//! The fleet that a preview read.

use windlass_core::gate::Contributors;

use crate::flow::sync::fleet_at_commit::FleetAtCommit;

/// The fleet that a preview read, before it is compared.
pub(crate) struct FetchedFleet {
    pub(crate) fleet_at_commit: FleetAtCommit,
    pub(crate) commit: Option<String>,
    pub(crate) contributors: Contributors,
    /// Why a sync would reject the commit, or what cannot be compared.
    pub(crate) notes: Vec<String>,
}
