//! Why a simulated agent could not go on.

use windlass_core::host::BlobDigest;
use windlass_core::target_assignment::AssignmentRefusal;

use crate::connection::RequestError;

/// Why a simulated agent could not go on.
#[derive(Debug, thiserror::Error)]
pub enum SimulationError {
    /// The server did not answer, or refused.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The agent refused the assignment.
    #[error("the agent refused the assignment: {0}")]
    Refused(AssignmentRefusal),
    /// The content is not what was approved.
    #[error("the content of {0} is not what was approved")]
    Tampered(BlobDigest),
    /// The target has no assignment.
    #[error("nothing is assigned")]
    NothingAssigned,
}
