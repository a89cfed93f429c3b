//! From accepted resources to assignments: which nodes get which document now, which approvals cover it, and which nodes
//! keep what they have, with the reason.
//!
//! Whoever calls this loads a [`ApprovedFleet`] and what is assigned already, stores the [`AssignDecision`], and signs
//! assignments when agents ask for them.

mod cover;
mod decide;

pub use cover::{ApprovedFleet, CoverProblem, RecordedApproval};
pub use decide::{AssignDecision, AssignedBefore, NodeAssignment, assign_nodes};
