//! What a preview looked at.

use windlass_core::gate::Contributors;

use crate::flow::sync::fleet_at_commit::FleetAtCommit;

/// What was found, before it is compared.
pub(crate) struct FetchedFleet {
    pub(crate) material: FleetAtCommit,
    pub(crate) commit: Option<String>,
    pub(crate) contributors: Contributors,
    /// Why a sync would not take it.
    pub(crate) notes: Vec<String>,
}
