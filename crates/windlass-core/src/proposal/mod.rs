//! Proposals: one change offered for approval, from its opening to its end.
//!
//! Pure decisions only: which states may follow which ([`Status`]), what a new comparison means for what is already
//! offered ([`reconcile`]), what a change still waits for ([`blockers`]), and what all that makes of a run
//! ([`run_status`]). Whoever calls these stores the answers.

mod blocked;
mod expiry;
mod opening;
mod reconcile;
mod run;
mod status;

pub use blocked::{Existing, blockers, missing_elsewhere};
pub use expiry::expires_at;
pub use opening::{Obstacle, StepFacts, can_open, free_slots};
pub use reconcile::{Cap, Closing, Declined, Offered, Reconciled, reconcile};
pub use run::{Fates, RunFacts, RunStatus, run_status};
pub use status::Status;
