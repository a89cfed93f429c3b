//! Proposals: one change offered for approval, from its opening to its end.
//!
//! Pure decisions only: which states may follow which ([`Status`]), what a new comparison means for what is already
//! offered ([`reconcile`]), what a change still waits for ([`blockers`]),
//! and why a proposal ended ([`CloseReason`]). Whoever calls these stores the answers.

mod blocked;
mod close_reason;
mod expiry;
#[cfg(test)]
pub(crate) mod made_up;
mod opening;
mod proposed;
#[cfg(test)]
mod reason_tests;
mod reconcile;
mod status;

pub use crate::blocked_by::{BlockedBy, BlockedByKind};
pub use blocked::{ResourceLookup, blockers, waits_outside_plan};
pub use close_reason::{CloseReason, CloseReasonKind, ProposedAgain};
pub use expiry::{expires_at, expiry_reason};
pub use opening::{OpenObstacle, StepFacts, can_open, free_slots};
pub use proposed::{ApplyOrder, Approval, Edit, Proposal};
pub use reconcile::{
    ClosingDecision, ExistingProposal, ProposalCap, ReconcileResult, RejectedChange, reconcile,
};
pub use status::Status;
