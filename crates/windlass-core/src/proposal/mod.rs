//! Proposals: one change offered for approval, from its opening to its end.
//!
//! Pure decisions only: which states may follow which ([`Status`]), what a new comparison means for what is already
//! offered ([`reconcile`]), what a change still waits for ([`blockers`]). Whoever calls these stores the answers.

mod blocked;
mod expiry;
#[cfg(test)]
pub(crate) mod made_up;
mod opening;
mod proposed;
mod reconcile;
mod status;

pub use blocked::{Existing, blockers, missing_elsewhere};
pub use expiry::expires_at;
pub use opening::{Obstacle, StepFacts, can_open, free_slots};
pub use proposed::{Approval, Edit, Proposal, Turn};
pub use reconcile::{Cap, Closing, Declined, Offered, Reconciled, reconcile};
pub use status::Status;
